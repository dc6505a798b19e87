// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.config.TopicConfig;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs once that a broker's min.insync.racks exceeds the racks of the cluster, and once when that is over.
 * Not thread-safe: one thread publishes metadata.
 */
public final class RackSupplyWarning {

    private static final Logger LOG = LoggerFactory.getLogger(RackSupplyWarning.class);

    private int warnedOf = 1;

    /** Returns true if a warning was logged now. */
    public boolean check(int minRacks, BrokerRacks racks) {
        int known = racks.known().size();
        if (minRacks <= known || minRacks <= 1) {
            if (warnedOf > 1)
                LOG.info("{}={} can be met now: brokers are registered in racks [{}].",
                    TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, minRacks, BrokerRacks.describe(racks.known()));
            warnedOf = 1;
            return false;
        }
        if (warnedOf == minRacks)
            return false;
        warnedOf = minRacks;
        LOG.warn("{}={} exceeds the {} rack(s) that brokers are registered in so far: [{}]. Writes with acks=all to topics that follow " +
            "this default are refused until there are more.",
            TopicConfig.MIN_IN_SYNC_RACKS_CONFIG, minRacks, known, BrokerRacks.describe(racks.known()));
        return true;
    }
}
