// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.NodeToControllerChannelManager;
import org.apache.kafka.server.partition.OngoingReassignmentState;

import io.rackspan.protocol.Electable;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Optional;

/** The way of AlterPartition requests of one process of a broker to the controller. What gets no answer is sent again, as it was. */
final class ControllerChannel implements NodeToControllerChannelManager {

    private final World world;
    private final Broker broker;
    private final int process;

    ControllerChannel(World world, Broker broker) {
        this.world = world;
        this.broker = broker;
        this.process = broker.process();
    }

    @Override
    public void sendRequest(AbstractRequest.Builder<? extends AbstractRequest> request, ControllerRequestCompletionHandler handler) {
        send(new Proposal(((AlterPartitionRequest) request.build()).data(), handler));
    }

    /** A request, of which several copies may be under way. */
    private static final class Proposal {
        private final AlterPartitionRequestData request;
        private final ControllerRequestCompletionHandler handler;
        private int copies = 0;
        private int refused = 0;

        Proposal(AlterPartitionRequestData request, ControllerRequestCompletionHandler handler) {
            this.request = request;
            this.handler = handler;
        }
    }

    private void send(Proposal proposal) {
        AlterPartitionRequestData request = proposal.request;
        int copy = proposal.copies++;
        AlterPartitionRequestData.PartitionData change = request.topics().get(0).partitions().get(0);
        // Made of a set, whose order each JVM chooses
        change.setNewIsrWithEpochs(new ArrayList<>(change.newIsrWithEpochs()));
        change.newIsrWithEpochs().sort(Comparator.comparingInt(AlterPartitionRequestData.BrokerState::brokerId));
        String text = "broker " + broker.id + " to controller: ISR " + change.newIsrWithEpochs().stream().map(AlterPartitionRequestData.BrokerState::brokerId).toList() +
            (proposed(change) == null ? "" : ", electable set " + proposed(change)) + ", leader epoch " + change.leaderEpoch() + ", partition epoch " + change.partitionEpoch();
        Runnable again = () -> {
            if (broker.process() == process)
                send(proposal);
        };
        world.network.send(text, () -> {
            if (copy < proposal.refused)
                return;
            int level = world.controller.level();
            AlterPartitionResponseData answer = world.controller.alterPartition(checked(copy(request)));
            // At level 0 the base accepts an earlier copy of what it has refused: none arrives
            if (level == 0 && isIneligible(answer))
                proposal.refused = copy;
            world.network.send("answer to " + text, () -> {
                if (broker.process() != process)
                    return;
                proposal.handler.onComplete(new ClientResponse(null, null, "", 0, 0, false, null, null, new AlterPartitionResponse(answer)));
                if (world.isBroken(Rule.ADDED_AGREED) && broker.partition() != null && broker.partition().assignmentState() instanceof OngoingReassignmentState ongoing)
                    broker.partition().rackGates().assigned(ongoing.addingReplicas());
            }, again);
        }, again);
    }

    /** The electable set that is proposed; null if it stays. */
    private static Electable proposed(AlterPartitionRequestData.PartitionData change) {
        return Electable.in(change, null);
    }

    /** A copy as it arrives: with the fields that a duplicate would not have. */
    private static AlterPartitionRequestData copy(AlterPartitionRequestData request) {
        short version = ApiKeys.ALTER_PARTITION.latestVersion();
        return new AlterPartitionRequestData(MessageUtil.toByteBufferAccessor(request, version), version);
    }

    private static boolean isIneligible(AlterPartitionResponseData answer) {
        return answer.topics().stream().flatMap(topic -> topic.partitions().stream()).anyMatch(partition -> partition.errorCode() == Errors.INELIGIBLE_REPLICA.code());
    }

    /** The request as it has to be for the rules that are knocked out. */
    private AlterPartitionRequestData checked(AlterPartitionRequestData request) {
        PartitionRegistration now = world.controller.partition();
        AlterPartitionRequestData.PartitionData change = request.topics().get(0).partitions().get(0);
        if (world.isBroken(Rule.ALTER_BROKER_EPOCH)) {
            request.setBrokerEpoch(world.controller.registration(broker.id).epoch());
            change.newIsrWithEpochs().forEach(member -> member.setBrokerEpoch(-1));
        }
        if (world.isBroken(Rule.ALTER_LEADER_EPOCH) && change.leaderEpoch() < now.leaderEpoch) {
            // A leader of before is taken for the present one, whose check of the number of changes it then passes too
            if (now.leader >= 0) {
                request.setBrokerId(now.leader).setBrokerEpoch(world.controller.registration(now.leader).epoch());
                if (change.newIsrWithEpochs().stream().noneMatch(member -> member.brokerId() == now.leader))
                    change.newIsrWithEpochs().add(new AlterPartitionRequestData.BrokerState().setBrokerId(now.leader));
            }
            change.setLeaderEpoch(now.leaderEpoch).setPartitionEpoch(now.partitionEpoch);
        }
        if (world.isBroken(Rule.ALTER_PARTITION_EPOCH) && change.leaderEpoch() == now.leaderEpoch)
            change.setPartitionEpoch(now.partitionEpoch);
        return request;
    }

    @Override
    public void start() { }

    @Override
    public void shutdown() { }

    @Override
    public Optional<NodeApiVersions> controllerApiVersions() {
        return Optional.empty();
    }

    @Override
    public long getTimeoutMs() {
        return Long.MAX_VALUE;
    }
}
