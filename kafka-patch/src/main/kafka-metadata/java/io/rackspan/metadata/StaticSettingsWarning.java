// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import io.rackspan.common.RackspanVersion;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.HashMap;
import java.util.Map;

/**
 * Logs that a setting in a node's server.properties is not what is in force, as only the metadata log counts: once, and again when what is
 * in force changes. Not thread-safe: one thread publishes metadata.
 */
public final class StaticSettingsWarning {

    private static final Logger LOG = LoggerFactory.getLogger(StaticSettingsWarning.class);

    private final Map<String, String> warnedOf = new HashMap<>();

    /** Returns true if a warning was logged now. */
    public boolean check(Map<String, ?> serverProperties, RackRules rules) {
        boolean warned = false;
        for (Map.Entry<String, String> setting : LevelSettings.DEFAULTS.entrySet()) {
            Object value = serverProperties.get(setting.getKey());
            if (value != null)
                warned |= check(setting.getKey(), value.toString().trim(), setting.getValue(), rules);
        }
        return warned;
    }

    private boolean check(String name, String ownValue, String byDefault, RackRules rules) {
        String inForce = rules.clusterDefault(name, byDefault);
        String warning = "";
        if (rules.level() == 0 && LevelSettings.needsLevel(name, ownValue))
            warning = "is not in force: " + RackspanVersion.FEATURE_NAME + " is at level 0. " + RackspanVersion.howToRaise();
        else if (rules.level() > 0 && !LevelSettings.areEqual(name, ownValue, inForce))
            warning = "is ignored: the cluster default in force is " + inForce + ". Set that with kafka-configs.sh --bootstrap-server " +
                "HOST:PORT --entity-type brokers --entity-default --alter --add-config " + name + "=" + ownValue + ", or remove the line.";
        boolean due = !warning.isEmpty() && !warning.equals(warnedOf.get(name));
        if (due)
            LOG.warn("{}={} in server.properties {}", name, ownValue, warning);
        warnedOf.put(name, warning);
        return due;
    }
}
