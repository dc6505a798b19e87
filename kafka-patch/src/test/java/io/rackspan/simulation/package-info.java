// SPDX-License-Identifier: Apache-2.0
/**
 * A simulation of a cluster over the real classes: seeded, in one thread, the same each time. A history is a cluster and a list of steps
 * made from a seed; after each step the promises of {@link io.rackspan.simulation.Guarantee} are checked, and a history that violates one
 * is shortened to the steps it takes.
 *
 * <p>Real are: of the controller the managers of replication, registrations, settings and features with all builders of changes, and the
 * records they write, RackspanLevel included; of brokers Partition with its gates, AckQuorum, RackSpan, the replicas' states, the metadata cache, images and
 * deltas, AlterPartitionManager, and the cache of leader epochs.
 *
 * <p>Modelled are: the controller's thread and quorum (SimulatedController: one controller that never fails; a request is decided and
 * committed at once); the log's files (MemoryLog on a Disk, with the rules of UnifiedLog for offsets, epochs and the high watermark;
 * what was not flushed may be torn off); the part of ReplicaManager and BrokerMetadataPublisher that applies metadata (Broker); fetcher
 * threads (Fetcher); waiting produce requests (Writes); the network (Network); consumers, which read all that a leader lets them. There is
 * one topic of one partition, whose brokers each have one disk for it. Coordinators, transactions, retention, and time that a broker's
 * request takes are not there, but for requests whose thread is preempted between append and wait.
 *
 * <p>The level of rackspan.version is changed by RackspanLevel. A stock broker announces no level, and has a metadata cache without rules.
 *
 * <p>{@link io.rackspan.simulation.Swarm} chooses what happens, {@link io.rackspan.simulation.KnownHistory} has what was found by hand.
 *
 * <p>A {@link io.rackspan.simulation.Rule} is knocked out in the adapters around the real classes. A {@link io.rackspan.simulation.Peril} that
 * is off has a known defect, which SimulationTest shows.
 */
package io.rackspan.simulation;
