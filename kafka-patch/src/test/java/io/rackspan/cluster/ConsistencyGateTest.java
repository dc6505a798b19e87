// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.server.ReplicaManager;

import io.rackspan.metadata.BrokerRacks;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InconsistentReplicaConfigurationException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;
import org.apache.kafka.common.utils.LogCaptureAppender;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Topics that require more than their partition has: replicas 1 and 2 in rack a, 3 in rack b, 4 in rack c. */
final class ConsistencyGateTest extends LeaderTest {

    private static final String ACTION = "min.insync.replicas.inconsistent.action";
    private static final List<Integer> PAIR = List.of(1, 2);
    private static final Map<String, String> THREE = Map.of("min.insync.replicas", "3");

    ConsistencyGateTest() {
        super("a", "a", "b", "c");
    }

    private PartitionResponse refused(int acks) {
        CompletableFuture<PartitionResponse> answer = broker.produce(acks);
        assertTrue(answer.isDone(), "the request should have been answered");
        return answer.join();
    }

    @Test
    void aWriteThatCanNeverBeAcknowledgedFailsWithANonRetriableError() {
        broker.lead(PAIR, THREE);
        for (int acks : new int[] {-1, -2}) {
            PartitionResponse answer = refused(acks);
            assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, answer.error);
            assertEquals("Partition orders-0 has 2 replica(s) [1, 2], but min.insync.replicas is 3: no write with acks=all can ever meet that. " +
                "Reassign the topic to more replicas, lower the setting, or set min.insync.replicas.inconsistent.action=clamp.", answer.errorMessage);
        }
        assertEquals(0, broker.logEnd());
        Exception error = Errors.INCONSISTENT_REPLICA_CONFIGURATION.exception("why");
        assertInstanceOf(InconsistentReplicaConfigurationException.class, error);
        assertFalse(error instanceof RetriableException);
        assertEquals(10002, Errors.INCONSISTENT_REPLICA_CONFIGURATION.code());
    }

    @Test
    void otherAcksAreServedAndRead() {
        broker.lead(PAIR, THREE);
        assertEquals(Errors.NONE, refused(1).error);
        assertEquals(Errors.NONE, refused(0).error);
        broker.everyoneFetches();
        assertEquals(2, broker.highWatermark(), "the high watermark keeps the clamped value");
    }

    @Test
    void isReportedBeforeAShortageOfTheIsr() {
        broker.lead(PAIR, THREE);
        broker.controllerChangesIsr(List.of(1));
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, refused(-1).error);
        broker.topicConfig("min.insync.replicas", "2");
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, refused(-1).error, "a real shortage stays retriable");
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, refused(-2).error);
    }

    @Test
    void clampCountsWhatThereIs() {
        broker.lead(PAIR, Map.of("min.insync.replicas", "3", ACTION, "clamp"));
        for (int acks : new int[] {-1, -2}) {
            CompletableFuture<PartitionResponse> answer = broker.produce(acks);
            assertFalse(answer.isDone());
            broker.everyoneFetches();
            assertEquals(Errors.NONE, answer.join().error);
        }
        broker.controllerChangesIsr(List.of(1));
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, refused(-1).error);
    }

    @Test
    void theActionIsSetForATopicOrTheClusterAndNotInServerProperties() throws Exception {
        broker.lead(PAIR, THREE);
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", ACTION, "clamp"));
        assertFalse(broker.produce(-1).isDone());
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", ACTION, " clamp"));
        assertFalse(broker.produce(-1).isDone(), "validation takes a value with blanks around it");
        broker.topicConfig(ACTION, "reject");
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, refused(-1).error);
        broker.topicConfig(ACTION, null);
        broker.publish(LeaderFixture.config(ConfigResource.Type.BROKER, "", ACTION, null));
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, refused(-1).error);
        try (LeaderFixture lenient = new LeaderFixture(Map.of(ACTION, "clamp"))) {
            lenient.brokers("a", "a");
            lenient.lead(PAIR, THREE);
            assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, LeaderFixture.now(lenient.produce(-1)).error);
        }
        assertThrows(ConfigException.class, () -> LogConfig.validate(Map.of(ACTION, "warn")));
    }

    @Test
    void theBrokerItselfIsNotRefused() {
        broker.lead(PAIR, THREE);
        broker.partition().appendRecordsToLeader(MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("v".getBytes())),
            AppendOrigin.COORDINATOR, -1, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) -1);
        assertEquals(1, broker.logEnd());
    }

    @Test
    void racksThatTheAssignmentLacksAreANonRetriableErrorToo() {
        broker.lead(PAIR, Map.of("min.insync.racks", "2", ACTION, "clamp"));
        for (int acks : new int[] {-1, -2}) {
            PartitionResponse answer = refused(acks);
            assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, answer.error);
            assertEquals("Partition orders-0 has replicas [1, 2] in 1 rack(s) [a], but min.insync.racks is 2: no write with acks=all can ever meet " +
                "that. Reassign the topic to more racks, or lower the setting.", answer.errorMessage);
        }
        broker.controllerChangesIsr(List.of(1));
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, refused(-1).error);
        broker.publish(LeaderFixture.broker(2, "b", 1));
        assertEquals(Errors.NOT_ENOUGH_RACKS, refused(-1).error, "the broker has moved: now it is a real shortage");
    }

    @Test
    void aRelabelledBrokerMakesItRetriable() {
        broker.publish(LeaderFixture.broker(2, "b", 1));
        broker.lead(PAIR, Map.of("min.insync.racks", "2"));
        assertFalse(broker.produce(-1).isDone());
        broker.publish(LeaderFixture.broker(2, "a", 2));
        assertEquals(Errors.NOT_ENOUGH_RACKS, refused(-1).error, "a label may be wrong, and be corrected");
    }

    @Test
    void aRackThatIsNotKnownMayTurnOutToBeAnother() {
        broker.publish(LeaderFixture.broker(2, null, 1));
        broker.lead(PAIR, Map.of("min.insync.racks", "3"));
        assertEquals(Errors.NOT_ENOUGH_RACKS, refused(-1).error);
        broker.publish(LeaderFixture.broker(2, "b", 1));
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, refused(-1).error);
    }

    @Test
    void aReassignmentToEnoughReplicasLiftsItWhileItLasts() {
        broker.lead(PAIR, THREE);
        assertEquals(Errors.INCONSISTENT_REPLICA_CONFIGURATION, refused(-1).error);
        PartitionChangeRecord adding = new PartitionChangeRecord().setTopicId(broker.partition().topicId().get()).setPartitionId(0)
            .setReplicas(List.of(1, 2, 3)).setAddingReplicas(List.of(3))
            .setDirectories(List.of(DirectoryId.UNASSIGNED, DirectoryId.UNASSIGNED, DirectoryId.UNASSIGNED));
        broker.publish(adding);
        assertEquals(Errors.NOT_ENOUGH_REPLICAS, refused(-1).error, "waiting helps now");
        broker.controllerChangesIsr(List.of(1, 2, 3));
        assertFalse(broker.produce(-1).isDone());
    }

    @Test
    void oneLineATopicAndPeriod() {
        broker.lead(PAIR, THREE);
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(InconsistencyLog.class);
             LogCaptureAppender others = LogCaptureAppender.createAndRegister(ReplicaManager.class)) {
            for (int i = 0; i < 100; i++)
                refused(-1);
            assertEquals(List.of(refused(-1).errorMessage + " Refused 1 append(s) to topic orders since the last such line."), log.getMessages());
            broker.time.sleep(RefusalLog.PERIOD_MS);
            refused(-1);
            String next = log.getMessages().get(1);
            assertTrue(next.endsWith("Refused 101 append(s) to topic orders since the last such line."), next);
            assertEquals(List.of(), others.getMessages().stream().filter(m -> m.contains("Error processing append")).toList());
        }
    }

    @Test
    void partitionsOfATopicShareTheLineAndTopicsDoNot() {
        InconsistencyLog refusals = new InconsistencyLog();
        try (LogCaptureAppender log = LogCaptureAppender.createAndRegister(InconsistencyLog.class)) {
            refusals.refused("a", "a-0 is wrong.", 0);
            refusals.refused("a", "a-1 is wrong.", 1);
            refusals.refused("b", "b-0 is wrong.", 2);
            assertEquals(List.of("a-0 is wrong. Refused 1 append(s) to topic a since the last such line.",
                "b-0 is wrong. Refused 1 append(s) to topic b since the last such line."), log.getMessages());
            IntStream.range(0, InconsistencyLog.TOPICS).forEach(i -> refusals.refused("t" + i, "t.", 3));
            refusals.refused("a", "a-0 is wrong.", 4);
            assertEquals(3 + InconsistencyLog.TOPICS, log.getMessages().size(), "topics without end are not remembered");
        }
    }

    @Test
    void theRuleForAnyTopic() {
        RackSpan rackSpan = new RackSpan(LeaderFixture.TP, () -> BrokerRacks.EMPTY);
        for (String topic : List.of("orders", "__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata"))
            for (String action : List.of("reject", "clamp"))
                for (int min = 1; min <= 4; min++)
                    for (int replicas = 1; replicas <= 4; replicas++) {
                        LogConfig config = new LogConfig(Map.of("min.insync.replicas", min, ACTION, action), Set.of(ACTION));
                        List<Integer> assignment = IntStream.rangeClosed(1, replicas).boxed().toList();
                        boolean refused = false;
                        try {
                            ConsistencyGate.checkAppend(new TopicPartition(topic, 0), config, broker.cache.rackRules(), assignment, rackSpan);
                        } catch (InconsistentReplicaConfigurationException e) {
                            refused = true;
                        }
                        assertEquals(min > replicas && action.equals("reject") && topic.equals("orders"), refused,
                            topic + " " + action + " min " + min + " of " + replicas);
                    }
    }
}
