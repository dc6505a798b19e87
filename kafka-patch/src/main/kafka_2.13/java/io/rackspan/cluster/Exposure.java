// SPDX-License-Identifier: Apache-2.0
package io.rackspan.cluster;

import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records acknowledged above the high watermark: the part of the log that consumers do not see yet, and that would be lost if
 * a replica that lacks it were elected.
 */
public final class Exposure {

    private static final Logger LOG = LoggerFactory.getLogger(Exposure.class);

    private Exposure() { }

    /** Records between the high watermark and the end of what was acknowledged, those of other acks in between included. */
    public static long records(UnifiedLog log, long acknowledged) {
        return Math.max(0, acknowledged - log.highWatermark());
    }

    /** The bytes of these records in the log. For gauges: any failure gives 0. */
    public static long bytes(UnifiedLog log, long acknowledged) {
        long highWatermark = log.highWatermark();
        if (acknowledged <= highWatermark)
            return 0;
        try {
            LogOffsetMetadata from = log.maybeConvertToOffsetMetadata(highWatermark);
            LogOffsetMetadata to = log.maybeConvertToOffsetMetadata(acknowledged);
            if (from.messageOffsetOnly() || to.messageOffsetOnly())
                return 0;
            long bytes = to.relativePositionInSegment - from.relativePositionInSegment;
            if (from.segmentBaseOffset != to.segmentBaseOffset)
                for (LogSegment segment : log.logSegments(from.segmentBaseOffset, to.segmentBaseOffset))
                    bytes += segment.size();
            return Math.max(0, bytes);
        } catch (Exception e) {
            // The log may be closed or deleted meanwhile
            LOG.debug("Cannot determine the bytes from {} to {} of {}", highWatermark, acknowledged, log.topicPartition(), e);
            return 0;
        }
    }
}
