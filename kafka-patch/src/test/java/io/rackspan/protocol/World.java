// SPDX-License-Identifier: Apache-2.0
package io.rackspan.protocol;

import io.rackspan.stock.Variant;

/** The client classes of both variants: methods of {@link Wire}. */
final class World {

    static final Variant OURS = Variant.ours(Wire.class);
    static final Variant STOCK = Variant.stock(Wire.class);

    private World() {
    }
}
