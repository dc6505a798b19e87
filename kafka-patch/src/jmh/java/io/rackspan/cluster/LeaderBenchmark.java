// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import kafka.cluster.Partition;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.replica.Replica;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * The leader of a partition whose replicas are in three racks: an append with acks=all, and a follower's report of its log end.
 * `off`: as on stock. `on`: two racks are required. `waiting`: in addition, a request with acks=min.insync.replicas waits for three replicas.
 * `level2`: `off` at level 2 of rackspan.version. `set`: `waiting` at level 2, with an electable set.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
public class LeaderBenchmark {

    @Param({"3", "5", "9"})
    public int replicas;

    @Param({"off", "on", "waiting", "level2", "set"})
    public String feature;

    private LeaderFixture broker;
    private Partition partition;
    private Replica follower;
    private MemoryRecords records;
    private long end;

    /** A log of its own for each iteration: appends fill the disk. */
    @Setup(Level.Iteration)
    public void start() throws Exception {
        broker = new LeaderFixture(Map.of());
        broker.brokers(IntStream.range(0, replicas).mapToObj(i -> "rack" + i % 3).toArray(String[]::new));
        boolean isQuorum = feature.equals("waiting") || feature.equals("set");
        Map<String, String> settings = new HashMap<>(Map.of("min.insync.replicas", isQuorum ? "3" : "2"));
        if (feature.equals("level2") || feature.equals("set"))
            broker.publish(LeaderFixture.level(2));
        if (!feature.equals("off") && !feature.equals("level2"))
            settings.put("min.insync.racks", "2");
        partition = broker.lead(IntStream.rangeClosed(1, replicas).boxed().toList(), settings);
        follower = partition.getReplica(2).get();
        records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord("v".getBytes()));
        broker.everyoneFetches();
        end = 2;
        if (isQuorum && broker.produce(-2).isDone())
            throw new IllegalStateException("the request was to wait");
        for (int i = isQuorum ? 1 : 0; i < 3; i++)
            broker.produce(1);
        if (feature.equals("set"))
            broker.controllerNotes();
    }

    @TearDown(Level.Iteration)
    public void stop() throws Exception {
        broker.close();
    }

    @Benchmark
    public Object append() {
        // The log writes the offset into the batch
        records.batches().iterator().next().setLastOffset(0);
        return partition.appendRecordsToLeader(records, AppendOrigin.CLIENT, -1, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) -1);
    }

    /** As when a fetch has found nothing for a while. */
    @Benchmark
    public void fetchState() {
        partition.updateFollowerFetchState(follower, new LogOffsetMetadata(0), 0, 1, 0, 1);
    }

    /** Forth and back, always beyond what a request waits for, which one more replica has to have: others are behind, so that the high watermark stays, too. */
    @Benchmark
    public void fetchMoved() {
        end = 5 - end;
        partition.updateFollowerFetchState(follower, new LogOffsetMetadata(end), 0, 1, 3, 1);
    }
}
