// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.loader.LoaderManifestType;

import io.rackspan.common.RackspanVersion;

/**
 * Remembers, while a node reads the metadata log, that its level of rackspan.version was lowered to 0 since the last snapshot. What
 * publishers get first is the image of the end of the log, which no longer shows it; a node that was down when the level was lowered
 * would take no snapshot, and a stock one in its place would read of the higher level and end. Used by one thread.
 */
public final class LevelsRead {

    private boolean givenUp = false;

    /** Takes note of what was read. */
    public void read(MetadataDelta delta, MetadataImage image, LoaderManifest manifest) {
        givenUp = manifest.type() == LoaderManifestType.LOG_DELTA &&
            (RackRules.areGivenUp(delta, image) || givenUp && RackspanVersion.levelIn(image.features().finalizedVersions()) == 0);
    }

    /** Adds the lowered level to the first delta of a publisher, which then sees a change to what the image has. */
    public void addTo(MetadataDelta first) {
        if (givenUp)
            first.replay(new FeatureLevelRecord().setName(RackspanVersion.FEATURE_NAME).setFeatureLevel((short) 0));
    }
}
