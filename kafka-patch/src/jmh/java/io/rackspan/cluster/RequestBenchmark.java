// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.requests.ProduceResponse.PartitionResponse;

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
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * A produce request with acks=all in the broker, from the append until all followers have fetched it and it is answered.
 * `off`: as on stock. `on`: the broker counts writes that another min.insync.racks would refuse, which this one is not.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
public class RequestBenchmark {

    @Param({"3"})
    public int replicas;

    @Param({"off", "on"})
    public String feature;

    private LeaderFixture broker;

    /** A log of its own for each iteration: appends fill the disk. */
    @Setup(Level.Iteration)
    public void start() throws Exception {
        broker = new LeaderFixture(Map.of());
        broker.brokers(IntStream.range(0, replicas).mapToObj(i -> "rack" + i % 3).toArray(String[]::new));
        Map<String, String> settings = new HashMap<>(Map.of("min.insync.replicas", "2"));
        if (feature.equals("on"))
            settings.put("min.insync.racks.shadow", "2");
        broker.lead(IntStream.rangeClosed(1, replicas).boxed().toList(), settings);
    }

    @TearDown(Level.Iteration)
    public void stop() throws Exception {
        broker.close();
    }

    @Benchmark
    public Object request() {
        CompletableFuture<PartitionResponse> answer = broker.produce(-1);
        broker.everyoneFetches();
        if (!answer.isDone())
            throw new IllegalStateException("the request was to be answered");
        return answer;
    }
}
