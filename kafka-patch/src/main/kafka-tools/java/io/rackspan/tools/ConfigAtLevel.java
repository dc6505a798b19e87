// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.FinalizedVersionRange;

import io.rackspan.common.RackspanVersion;

import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;

/** A topic's settings, with whether rackspan.version puts ours in force. The brokers are asked only if that is looked up. */
public final class ConfigAtLevel extends Config {

    private final BooleanSupplier inForce;

    ConfigAtLevel(Config config, BooleanSupplier inForce) {
        super(config.entries());
        this.inForce = inForce;
    }

    public static Config of(Config config, Admin admin) {
        return new ConfigAtLevel(config, () -> isInForce(admin));
    }

    /** False also if it is not known. */
    static boolean isInForce(Config config) {
        return config instanceof ConfigAtLevel atLevel && atLevel.inForce.getAsBoolean();
    }

    private static boolean isInForce(Admin admin) {
        try {
            FinalizedVersionRange levels = admin.describeFeatures().featureMetadata().get().finalizedFeatures().get(RackspanVersion.FEATURE_NAME);
            return levels != null && levels.maxVersionLevel() > 0;
        } catch (ExecutionException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
