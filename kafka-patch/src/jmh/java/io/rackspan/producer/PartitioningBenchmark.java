// SPDX-License-Identifier: Apache-2.0
package io.rackspan.producer;

import org.apache.kafka.clients.producer.RoundRobinPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** A record without a key finds its partition among twelve. `on`: only partitions come into question that have enough in sync, one of them has not. */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 3, time = 1)
public class PartitioningBenchmark {

    @Param({"3", "5", "9"})
    public int replicas;

    @Param({"off", "on"})
    public String feature;

    private final RoundRobinPartitioner partitioner = new RoundRobinPartitioner();
    private Cluster cluster;

    @Setup
    public void fill() {
        Node[] nodes = IntStream.range(0, replicas).mapToObj(id -> new Node(id, "h", 1, "rack" + id % 3)).toArray(Node[]::new);
        List<PartitionInfo> partitions = new ArrayList<>();
        for (int partition = 0; partition < 12; partition++)
            partitions.add(feature.equals("on") ? Ours.partition(partition, nodes) : new PartitionInfo("t", partition, nodes[0], nodes, nodes));
        cluster = new Cluster("c", List.of(nodes), partitions, Set.of(), Set.of());
    }

    @Benchmark
    public int choose() {
        return feature.equals("on") ? Ours.choose(partitioner, cluster) : partitioner.partition("t", null, null, null, null, cluster);
    }

    /** Calls that stock jars lack; loaded only where it is used. */
    private static final class Ours {

        private static PartitionInfo partition(int partition, Node[] nodes) {
            Node[] isr = partition == 0 ? new Node[] {nodes[0]} : nodes;
            return new PartitionInfo("t", partition, nodes[0], nodes, isr, new Node[0], 2, 2);
        }

        private static int choose(RoundRobinPartitioner partitioner, Cluster cluster) {
            return partitioner.partition("t", null, null, null, null, true, cluster);
        }
    }
}
