// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.MockClient;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.server.ControllerInformation;
import org.apache.kafka.server.NodeToControllerQueueItem;
import org.apache.kafka.server.NodeToControllerRequestThread;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.config.ReplicationConfigs;

import io.rackspan.metadata.ControllerChangePublisher;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.mockito.Mockito.mock;

/** Requests to a controller that is replaced while it does not answer. */
final class ReplacedControllerTest {

    private static final Node FIRST = new Node(3001, "first", 9093);
    private static final Node SECOND = new Node(3002, "second", 9093);

    private final MockTime time = new MockTime();
    private final MockClient client = new MockClient(time, mock(Metadata.class));
    private final List<String> answers = new ArrayList<>();
    private Node active = FIRST;
    private final NodeToControllerRequestThread thread = new NodeToControllerRequestThread(client, new ManualMetadataUpdater(),
        () -> new ControllerInformation(Optional.ofNullable(active), new ListenerName("CONTROLLER"), SecurityProtocol.PLAINTEXT, ""),
        new AbstractConfig(ReplicationConfigs.CONFIG_DEF, Map.of()), time, "test", Long.MAX_VALUE);

    private void send() {
        client.setNodeApiVersions(NodeApiVersions.create(ApiKeys.ALTER_PARTITION.id, ApiKeys.ALTER_PARTITION.oldestVersion(), ApiKeys.ALTER_PARTITION.latestVersion()));
        thread.enqueue(new NodeToControllerQueueItem(time.milliseconds(), new AlterPartitionRequest.Builder(new AlterPartitionRequestData()),
            new ControllerRequestCompletionHandler() {
                @Override
                public void onTimeout() {
                    answers.add("timeout");
                }

                @Override
                public void onComplete(ClientResponse response) {
                    answers.add(response.hasResponse() ? response.destination() : response.toString());
                }
            }));
    }

    private void work(int rounds) {
        for (int i = 0; i < rounds; i++)
            thread.doWork();
    }

    private void sentToFirst() {
        thread.setStarted(true);
        send();
        work(2);
        assertEquals(Optional.of(FIRST), thread.activeControllerAddress());
        assertTrue(client.hasInFlightRequests(FIRST.idString()));
    }

    @Test
    void aRequestWithoutAnswerIsSentToTheSuccessor() {
        sentToFirst();
        active = SECOND;
        thread.controllerChanged();
        client.prepareResponseFrom(new AlterPartitionResponse(new AlterPartitionResponseData()), SECOND);
        work(5);
        assertEquals(List.of(SECOND.idString()), answers);
        assertEquals(0, thread.queueSize());
    }

    @Test
    void aRequestWithoutAnswerIsWaitedForWhileNoOtherControllerIsActive() {
        sentToFirst();
        thread.controllerChanged();
        work(2);
        active = null;
        thread.controllerChanged();
        work(2);
        assertTrue(client.hasInFlightRequests(FIRST.idString()));
        client.respond(new AlterPartitionResponse(new AlterPartitionResponseData()));
        work(2);
        assertEquals(List.of(FIRST.idString()), answers);
    }

    @Test
    void aConnectionThatIsNotUsedIsNotClosed() {
        thread.setStarted(true);
        work(1);
        assertEquals(Optional.of(FIRST), thread.activeControllerAddress());
        active = SECOND;
        thread.controllerChanged();
        work(1);
        assertEquals(Optional.of(SECOND), thread.activeControllerAddress());
        client.prepareResponseFrom(new AlterPartitionResponse(new AlterPartitionResponseData()), SECOND);
        send();
        work(3);
        assertEquals(List.of(SECOND.idString()), answers);
    }

    @Test
    void aBrokerIsNotifiedFromLevelOneOnOfAControllerThatIsKnown() {
        List<Boolean> calls = new ArrayList<>();
        ControllerChangePublisher publisher = new ControllerChangePublisher(() -> calls.add(true), () -> calls.add(true));
        for (int level : new int[] {0, 1, 2, 0}) {
            MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
            delta.replay(new FeatureLevelRecord().setName("rackspan.version").setFeatureLevel((short) level));
            publisher.onMetadataUpdate(delta, delta.apply(MetadataProvenance.EMPTY), null);
            calls.clear();
            publisher.onControllerChange(new LeaderAndEpoch(OptionalInt.empty(), 2));
            assertTrue(calls.isEmpty());
            publisher.onControllerChange(new LeaderAndEpoch(OptionalInt.of(3002), 3));
            assertEquals(level > 0 ? 2 : 0, calls.size(), "level " + level);
        }
    }
}
