// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Logs writes that the configuration of their topic makes impossible: one line a topic and period (see {@link RefusalLog}), not one a
 * request (KIP-579, Motivation). Thread-safe.
 */
public final class InconsistencyLog {

    private static final Logger LOG = LoggerFactory.getLogger(InconsistencyLog.class);

    /** Topics remembered at a time; of more, those refused longest ago are forgotten and may get a line too early. */
    static final int TOPICS = 1000;

    private final Map<String, RefusalLog> topics = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, RefusalLog> eldest) {
            return size() > TOPICS;
        }
    };

    /** Counts a refused write, and logs why with the number of those since the last line, if a line is due. */
    public void refused(String topic, String why, long nowMs) {
        RefusalLog refusals;
        synchronized (topics) {
            refusals = topics.computeIfAbsent(topic, name -> new RefusalLog());
        }
        long count = refusals.refused(nowMs);
        if (count > 0)
            LOG.warn("{} Refused {} append(s) to topic {} since the last such line.", why, count, topic);
    }
}
