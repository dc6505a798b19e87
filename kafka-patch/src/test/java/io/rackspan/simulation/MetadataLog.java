// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import java.util.ArrayList;
import java.util.List;

/** What the controller has decided, in batches that brokers read when it suits the network. */
final class MetadataLog {

    /** A change from one image to a later one, as a broker's publisher gets it. */
    record Update(MetadataDelta delta, MetadataImage image, int position) { }

    private final List<List<ApiMessageAndVersion>> batches = new ArrayList<>();
    private final List<Update> single = new ArrayList<>();
    private final List<Long> offsets = new ArrayList<>();

    void append(List<ApiMessageAndVersion> records) {
        batches.add(records);
        single.add(null);
        offsets.add((offsets.isEmpty() ? 0 : offsets.get(offsets.size() - 1)) + records.size());
    }

    /** The number of batches. */
    int end() {
        return batches.size();
    }

    /** The offset of the last record before a position. */
    long offset(int position) {
        return position == 0 ? 0 : offsets.get(position - 1);
    }

    /** The change from an image at one position to another position. Steps of one batch are made once for all brokers. */
    Update update(MetadataImage image, int from, int to) {
        if (to != from + 1 || from == 0)
            return make(image, from, to);
        Update shared = single.get(from);
        if (shared == null || shared.delta.image() != image) {
            shared = make(image, from, to);
            single.set(from, shared);
        }
        return shared;
    }

    private Update make(MetadataImage image, int from, int to) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        for (List<ApiMessageAndVersion> batch : batches.subList(from, to))
            for (ApiMessageAndVersion record : batch)
                delta.replay(record.message());
        return new Update(delta, delta.apply(new MetadataProvenance(offset(to), 1, 0, true)), to);
    }
}
