// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.publisher.MetadataPublisher;
import org.apache.kafka.raft.LeaderAndEpoch;

import io.rackspan.common.RackspanVersion;

import java.util.List;

/**
 * Has what sends requests to the active controller learn at once, from level 1 of rackspan.version on, that another one is active. One that is cut
 * off never answers, and acknowledgements, the session of this broker and requests of clients may wait for it.
 */
public final class ControllerChangePublisher implements MetadataPublisher {

    private final List<Runnable> changed;
    private short level = 0;

    /** @param changed run when a controller has become active, in the thread that loads the metadata */
    public ControllerChangePublisher(Runnable... changed) {
        this.changed = List.of(changed);
    }

    @Override
    public String name() {
        return "ControllerChangePublisher";
    }

    @Override
    public void onMetadataUpdate(MetadataDelta delta, MetadataImage newImage, LoaderManifest manifest) {
        if (delta.featuresDelta() != null)
            level = RackspanVersion.levelIn(newImage.features().finalizedVersions());
    }

    @Override
    public void onControllerChange(LeaderAndEpoch active) {
        if (level > 0 && active.leaderId().isPresent())
            changed.forEach(Runnable::run);
    }

    @Override
    public void close() {
        // The interface declares an exception, which javac warns of.
    }
}
