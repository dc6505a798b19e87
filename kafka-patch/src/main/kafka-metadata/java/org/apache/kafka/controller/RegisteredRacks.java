// SPDX-License-Identifier: Apache-2.0
package org.apache.kafka.controller;

import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.metadata.BrokerRegistration;

import io.rackspan.metadata.BrokerRacks;
import io.rackspan.metadata.RackConfigCheck;

import java.util.HashMap;
import java.util.Map;

/**
 * Refuses racks that are required while a broker without one is registered, behind what another validator refuses. It runs in the thread
 * that registers brokers and looks at their registrations: published metadata may lack the newest one.
 */
final class RegisteredRacks implements ConfigurationValidator {

    private final ConfigurationValidator base;
    private final ClusterControlManager brokers;

    RegisteredRacks(ConfigurationValidator base, ClusterControlManager brokers) {
        this.base = base;
        this.brokers = brokers;
    }

    @Override
    public void validate(ConfigResource resource) {
        base.validate(resource);
    }

    @Override
    public void validate(ConfigResource resource, Map<String, String> newConfigs, Map<String, String> oldConfigs) {
        base.validate(resource, newConfigs, oldConfigs);
        RackConfigCheck.requireNamed(resource, newConfigs, oldConfigs, this::racks);
    }

    private BrokerRacks racks() {
        Map<Integer, String> racks = new HashMap<>();
        for (BrokerRegistration broker : brokers.brokerRegistrations().values())
            racks.put(broker.id(), broker.rack().orElse(null));
        return BrokerRacks.of(racks);
    }
}
