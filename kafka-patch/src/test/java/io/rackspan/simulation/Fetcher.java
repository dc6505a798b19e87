// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.storage.internals.log.LogReadInfo;

import java.util.Optional;

/** A follower that fetches from its leader, as AbstractFetcherThread does: what it asks for, and what it does with an answer. */
final class Fetcher {

    /** @param records the greatest number of records to be returned */
    private record Request(int follower, long brokerEpoch, int leader, int leaderEpoch, long offset, Optional<Integer> lastEpoch, int records) { }

    /** @param outOfRange the leader's log end, if it could not find where the logs differ; else -1 */
    private record Answer(LogReadInfo read, long outOfRange) { }

    private static final int ALL = 1 << 16;

    private final World world;
    private final Broker broker;
    private int leader = -1;
    private int leaderEpoch;
    private long offset;
    private Object inFlight;

    Fetcher(World world, Broker broker) {
        this.world = world;
        this.broker = broker;
    }

    void stop() {
        leader = -1;
        inFlight = null;
    }

    /** Begins at the end of the log in a new leader epoch. */
    void start(int newLeader, int newLeaderEpoch) {
        leader = newLeader;
        leaderEpoch = newLeaderEpoch;
        inFlight = null;
        MemoryLog log = broker.partition().memory();
        offset = log.latestEpoch().isPresent() ? log.logEndOffset() : log.highWatermark();
    }

    private boolean isReady() {
        return broker.isRunning() && leader >= 0 && inFlight == null;
    }

    /** Fetches and gets the answer, at once. Returns true if there was one. */
    boolean fetch(int choice) {
        if (!isReady())
            return false;
        Request request = request(choice);
        Answer answer = world.broker(leader).isRunning() ? answer(request) : null;
        if (answer == null)
            return false;
        handle(request, answer);
        return true;
    }

    /** Sends a request over the network. */
    boolean send(int choice) {
        if (!isReady())
            return false;
        Request request = request(choice);
        Object sent = new Object();
        inFlight = sent;
        Runnable gone = () -> {
            if (inFlight == sent)
                inFlight = null;
        };
        world.network.send("fetch of " + request.follower + " from " + request.leader + " at " + request.offset, () -> {
            Answer answer = world.broker(request.leader).isRunning() ? answer(request) : null;
            if (answer == null)
                gone.run();
            else
                world.network.send("answer to the fetch of " + request.follower + " at " + request.offset, () -> {
                    if (inFlight == sent) {
                        inFlight = null;
                        handle(request, answer);
                    }
                }, gone);
        }, gone);
        return true;
    }

    private Request request(int choice) {
        Optional<Integer> lastEpoch = world.isBroken(Rule.TRUNCATION) ? Optional.empty() : broker.partition().memory().latestEpoch();
        return new Request(broker.id, broker.epoch(), leader, leaderEpoch, offset, lastEpoch, choice % 3 == 0 ? 1 + (choice >> 4) % 3 : ALL);
    }

    /** The leader's part; null if it refuses. */
    private Answer answer(Request request) {
        Broker from = world.broker(request.leader);
        SimulatedPartition partition = from.partition();
        if (partition == null)
            return null;
        if (world.isBroken(Rule.EPOCH_START) && partition.isLeader())
            partition.leaderEpochStartOffsetOpt_$eq(scala.Option.apply((Object) 0L));
        long brokerEpoch = world.isBroken(Rule.FOLLOWER_BROKER_EPOCH) ? Math.max(request.brokerEpoch, from.registeredEpoch(request.follower)) : request.brokerEpoch;
        Optional<Integer> currentEpoch = world.isBroken(Rule.FETCH_LEADER_EPOCH) ? Optional.empty() : Optional.of(request.leaderEpoch);
        try {
            LogReadInfo read = ElectableKnockout.proposing(world, partition, request.follower, () -> partition.fetchRecords(
                new FetchParams(request.follower, brokerEpoch, 0, 0, ALL, FetchIsolation.LOG_END, Optional.empty()),
                new FetchRequest.PartitionData(world.controller.topicId(), request.offset, 0, request.records, currentEpoch, request.lastEpoch),
                world.time.milliseconds(), request.records, true, true));
            from.writes.moveHighWatermark();
            if (world.isBroken(Rule.QUORUM_MEMBERS) || world.isBroken(Rule.QUORUM_PROPOSED) || world.isBroken(Rule.QUORUM_EMPTYING))
                from.writes.check();
            return new Answer(read, -1);
        } catch (OffsetOutOfRangeException e) {
            return new Answer(null, partition.memory().logEndOffset());
        } catch (ApiException e) {
            return null;
        }
    }

    private void handle(Request request, Answer answer) {
        if (request.leaderEpoch != leaderEpoch || request.offset != offset || leader != request.leader)
            return;
        MemoryLog log = broker.partition().memory();
        if (answer.read == null)
            truncate(log, Math.min(answer.outOfRange, log.logEndOffset()));
        else if (answer.read.divergingEpoch().isPresent())
            truncate(log, commonEnd(log, answer.read.divergingEpoch().get()));
        else {
            MemoryRecords records = (MemoryRecords) answer.read.fetchedData().records;
            if (records.sizeInBytes() > 0)
                broker.partition().appendRecordsToFollowerOrFutureReplica(records, false, leaderEpoch);
            log.maybeUpdateHighWatermark(answer.read.highWatermark());
            offset = log.logEndOffset();
        }
        world.guarantee.holds(broker);
    }

    private void truncate(MemoryLog log, long to) {
        log.truncateTo(to);
        offset = log.logEndOffset();
    }

    /** Where the logs may still be the same, given the end of the leader's last epoch that is not newer. */
    private static long commonEnd(MemoryLog log, FetchResponseData.EpochEndOffset leader) {
        long end = Math.min(leader.endOffset(), log.logEndOffset());
        Optional<OffsetAndEpoch> own = log.endOffsetForEpoch(leader.epoch());
        if (own.isEmpty())
            return end;
        if (own.get().epoch() != leader.epoch())
            return Math.min(own.get().offset(), log.logEndOffset());
        return Math.min(own.get().offset(), end);
    }
}
