// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.NotEnoughRacksException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.metrics.KafkaMetricsGroup;
import org.apache.kafka.server.partition.PartitionState;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import io.rackspan.metadata.BrokerRacks;
import io.rackspan.metadata.EligibleSpan;
import io.rackspan.metadata.InternalTopics;
import io.rackspan.metadata.RackRules;

import java.util.Collection;
import java.util.List;
import java.util.Map;

/** The gates of min.insync.racks on one partition of this broker: {@link RackSpan} with the state that it is asked about. */
public final class RackGates {

    private static final String UNDER = "UnderMinRackIsr";
    private static final String AT = "AtMinRackIsr";
    private static final String COUNT = "IsrRackCount";

    private final String topic;
    private final MetadataCache metadata;
    private final Leadership partition;
    private final RackSpan span;
    private final LedgerGate ledger;

    /** The min.insync.racks of the topic by these rules, kept as each append and each fetch asks for it. */
    private record MinRacks(Object rules, int number) { }

    private volatile MinRacks minRacks = new MinRacks(null, 1);

    /** The replicas without those that a reassignment is adding. */
    private volatile List<Integer> original = List.of();

    public RackGates(TopicPartition topicPartition, MetadataCache metadata, Leadership partition) {
        this.topic = topicPartition.topic();
        this.metadata = metadata;
        this.partition = partition;
        this.span = new RackSpan(topicPartition, metadata::brokerRacks);
        this.ledger = new LedgerGate(topic, metadata, partition, this);
    }

    /** Adds the gauges of the partition; returns this. */
    public RackGates withGauges(KafkaMetricsGroup group, Map<String, String> tags) {
        group.newGauge(UNDER, () -> isUnder() ? 1 : 0, tags);
        group.newGauge(AT, () -> isAt() ? 1 : 0, tags);
        // Followers have no value: a minimum over brokers would be theirs.
        group.newGauge(COUNT, () -> partition.log() == null ? null : span.span(partition.state().isr()), tags);
        return this;
    }

    /** Removes them. */
    public static void removeGauges(KafkaMetricsGroup group, Map<String, String> tags) {
        List.of(UNDER, AT, COUNT).forEach(name -> group.removeMetric(name, tags));
    }

    /** The state that they are asked about. */
    Leadership partition() {
        return partition;
    }

    /** The gates themselves, for those that ask with a state of their own. */
    public RackSpan span() {
        return span;
    }

    /** What is acknowledged in fewer racks than promised while min.insync.racks is lowered for a time. */
    public LedgerGate ledger() {
        return ledger;
    }

    /** The rules of the metadata log; null for a metadata cache that is no real one. */
    RackRules rules() {
        return metadata.rackRules();
    }

    /** The racks of brokers now. */
    BrokerRacks brokerRacks() {
        return metadata.brokerRacks();
    }

    /** The racks that acks=min.insync.replicas waits for, and no more than the replicas are in without those that a reassignment is adding. */
    int effectiveQuorumRacks(PartitionState state) {
        int asked = ledger.quorumRacks(state);
        return asked > 1 ? Math.min(asked, span.assignmentSpan(original)) : asked;
    }

    /** The min.insync.racks in force, from the metadata log. */
    public int minRacks() {
        RackRules rules = metadata.rackRules();
        MinRacks known = minRacks;
        if (known.rules != RackRules.identity(rules)) {
            known = new MinRacks(RackRules.identity(rules), RackRules.minRacks(rules, topic));
            minRacks = known;
        }
        return known.number;
    }

    /** Notes a new assignment, which {@link Leadership#replicas} has already. Call it with the partition's write lock. */
    public void assigned(Collection<Integer> adding) {
        original = EligibleSpan.original(partition.replicas(), adding);
    }

    /**
     * Notes an ISR that the controller has agreed to. If it holds all replicas that a reassignment was adding, that may have ended with it, and the
     * controller requires their racks from then on: the metadata that says so may be late. Call it with the partition's write lock.
     */
    public void agreed(Collection<Integer> isr) {
        List<Integer> all = partition.replicas();
        if (original.size() < all.size() && all.stream().allMatch(replica -> original.contains(replica) || isr.contains(replica)))
            original = all;
    }

    /**
     * True if a fetch of a follower counts: from level 1 on not before this broker knows the registration that it was made under. Until then the
     * rack known here may be the one before, and what a broker that is not registered yet, of epoch -1, holds may be gone unnoticed.
     */
    public boolean isKnown(int follower, long brokerEpoch) {
        return RackRules.isOff(metadata.rackRules()) || brokerEpoch >= 0 && brokerEpoch <= metadata.registeredEpoch(follower);
    }

    /** True if this broker leads and the in-sync replicas are in too few racks; never with the default 1. */
    public boolean isUnder() {
        // Checks for the leader once more: a resignation in between would have emptied the state.
        return partition.log() != null && span.isUnder(requiredRacks(), partition.state().isr()) && partition.log() != null;
    }

    /** True if this broker leads and the loss of one more rack would refuse writes; never with the default 1. */
    public boolean isAt() {
        return partition.log() != null && span.isAt(requiredRacks(), partition.state().isr());
    }

    /** True if this broker leads and min.insync.racks is lowered for a time. */
    public boolean isDegraded() {
        RackRules rules = metadata.rackRules();
        return rules != null && partition.log() != null && rules.degrade(topic) != null;
    }

    /** The racks without which writes are refused: of an internal topic no more than its replicas are in. */
    private int requiredRacks() {
        return required(minRacks());
    }

    /** What this many racks are for the topic: of an internal one no more than its replicas are in. */
    int required(int minRacks) {
        return minRacks > 1 && InternalTopics.contains(topic) ? Math.min(minRacks, span.assignmentSpan(original)) : minRacks;
    }

    /** The racks that the in-sync replicas are in, and those that are missing. */
    public String shortage() {
        return span.shortage(minRacks(), partition.state().isr(), partition.replicas());
    }

    /** See {@link RackSpan#requirementChanged}. On stock a lowered min.insync.replicas takes effect when a follower advances. */
    public boolean requirementChanged() {
        UnifiedLog log = partition.log();
        int minReplicas = log == null || RackRules.isOff(metadata.rackRules()) ? 0 : partition.minReplicas(log);
        return span.requirementChanged(minReplicas, minRacks());
    }

    /** See {@link RackSpan#holdsHighWatermark} and {@link LedgerGate#holds}. */
    public boolean holdsHighWatermark() {
        return span.holdsHighWatermark(minRacks(), partition.state().isr(), original) || ledger.holds();
    }

    /**
     * See {@link RackSpan#checkAppend}.
     *
     * @throws NotEnoughRacksException if the in-sync replicas are in too few racks
     */
    public void checkAppend(AppendOrigin origin, Time time) {
        span.checkAppend(minRacks(), partition.state().isr(), partition.replicas(), original, origin, time);
    }

    /** See {@link RackSpan#checkAfterAppend}. */
    public Errors checkAfterAppend(AppendOrigin origin) {
        return span.checkAfterAppend(minRacks(), partition.state().isr(), original, origin);
    }
}
