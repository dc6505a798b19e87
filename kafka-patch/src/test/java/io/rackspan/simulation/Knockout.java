// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import kafka.cluster.Partition;

import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.partition.CommittedPartitionState;
import org.apache.kafka.server.partition.PartitionState;

import io.rackspan.metadata.BrokerRacks;
import io.rackspan.metadata.RackRules;


import java.lang.reflect.Field;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Knocks out rules that no adapter is in the way of. */
final class Knockout {

    private static final Field PARTITION_EPOCH = field("partitionEpoch");
    private static final Field LEADER_EPOCH = field("leaderEpoch");
    private static final Field PARTITION_STATE = field("partitionState");

    /** The metadata cache of a broker that lacks rules. */
    private static final class Cache extends KRaftMetadataCache {

        private final boolean stock;
        private final boolean knowsAll;
        private final UnaryOperator<BrokerRacks> change;

        private Cache(int broker, boolean stock, boolean knowsAll, UnaryOperator<BrokerRacks> change) {
            super(broker, () -> KRaftVersion.LATEST_PRODUCTION);
            this.stock = stock;
            this.knowsAll = knowsAll;
            this.change = change;
        }

        @Override
        public BrokerRacks brokerRacks() {
            return change.apply(super.brokerRacks());
        }

        @Override
        public long registeredEpoch(int broker) {
            return knowsAll ? Long.MAX_VALUE : super.registeredEpoch(broker);
        }

        @Override
        public RackRules rackRules() {
            return stock ? RackRules.NONE : super.rackRules();
        }
    }

    private Knockout() { }

    private static Field field(String name) {
        return field(Partition.class, name);
    }

    static Field field(Class<?> of, String name) {
        try {
            Field field = of.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(of.getSimpleName() + " has no field " + name + " any more", e);
        }
    }

    /** The metadata cache of a process that begins. A stock one has no rules. */
    static KRaftMetadataCache cache(World world, Broker broker) {
        BrokerRacks[] first = new BrokerRacks[1];
        UnaryOperator<BrokerRacks> change = !world.isBroken(Rule.NEWEST_RACKS) ? racks -> racks : racks -> {
            if (first[0] == null)
                first[0] = racks;
            return first[0];
        };
        // Settled racks are new objects, by whose identity changes are recognised
        Map<BrokerRacks, BrokerRacks> settled = new IdentityHashMap<>();
        return new Cache(broker.id, broker.stock, world.isBroken(Rule.FOLLOWER_REGISTRATION),
            world.isBroken(Rule.RACKS_IN_CHANGE) ? racks -> settled.computeIfAbsent(racks, BrokerRacks::settled) : change);
    }

    /** The leader takes an epoch for the one after its own. */
    static void missNoEpoch(Partition partition, int epoch) {
        set(LEADER_EPOCH, partition, epoch - 1);
    }

    /** Any metadata is as new as what the partition has. */
    static void forgetPartitionEpoch(Partition partition) {
        set(PARTITION_EPOCH, partition, -1);
    }

    /** A proposal to change the ISR that is under way is not known any more when metadata arrives. */
    static void forgetProposal(Partition partition) {
        try {
            PartitionState state = (PartitionState) PARTITION_STATE.get(partition);
            if (state.isInflight())
                PARTITION_STATE.set(partition, new CommittedPartitionState(state.isr(), LeaderRecoveryState.RECOVERED));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void set(Field field, Partition partition, int value) {
        try {
            field.setInt(partition, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
