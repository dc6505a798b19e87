// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.TopicConfig;

import io.rackspan.common.RackspanVersion;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;

/**
 * Logs that min.insync.racks in a broker's server.properties is not what is in force: once, and again when what is in force changes.
 * Not thread-safe: one thread publishes metadata.
 */
public final class StaticRacksWarning {

    private static final Logger LOG = LoggerFactory.getLogger(StaticRacksWarning.class);
    private static final String NAME = TopicConfig.MIN_IN_SYNC_RACKS_CONFIG;

    private String warnedOf = "";

    /** Returns true if a warning was logged now. */
    public boolean check(Map<String, ?> serverProperties, RackRules rules) {
        Object value = serverProperties.get(NAME);
        String ownValue = value == null ? null : value.toString().trim();
        String warning = "";
        if (rules.level() == 0 && LevelSettings.needsLevel(NAME, ownValue))
            warning = "is not in force: " + RackspanVersion.FEATURE_NAME + " is at level 0. " + RackspanVersion.howToRaise();
        else if (rules.level() > 0 && ownValue != null && Integer.parseInt(ownValue) != rules.minRacks())
            warning = "is ignored: the cluster default in force is " + rules.minRacks() + ". Set that with kafka-configs.sh --bootstrap-server " +
                "HOST:PORT --entity-type brokers --entity-default --alter --add-config " + NAME + "=" + ownValue + ", or remove the line.";
        boolean due = !warning.isEmpty() && !warning.equals(warnedOf);
        if (due)
            LOG.warn("{}={} in server.properties {}", NAME, ownValue, warning);
        warnedOf = warning;
        return due;
    }
}
