// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.LoaderManifest;
import org.apache.kafka.image.publisher.MetadataPublisher;

import java.util.Map;

/** Has a controller warn of settings in its server.properties that are not in force, as brokers do. */
public final class StaticSettingsPublisher implements MetadataPublisher {

    private final Map<String, ?> serverProperties;
    private final StaticSettingsWarning warning = new StaticSettingsWarning();
    private RackRules rules = RackRules.NONE;

    public StaticSettingsPublisher(Map<String, ?> serverProperties) {
        this.serverProperties = serverProperties;
    }

    @Override
    public String name() {
        return "StaticSettingsPublisher";
    }

    @Override
    public void onMetadataUpdate(MetadataDelta delta, MetadataImage newImage, LoaderManifest manifest) {
        if (delta.configsDelta() == null && delta.featuresDelta() == null)
            return;
        rules = rules.updated(newImage.features(), newImage.configs());
        warning.check(serverProperties, rules);
    }

    @Override
    public void close() {
        // The interface declares an exception, which javac warns of.
    }
}
