// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.config.Configurator;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

import java.util.HashMap;
import java.util.Map;

/** Keeps what brokers and controllers log of millions of elections from being written. Other tests of the JVM look at what is logged. */
final class Quiet implements BeforeAllCallback, AfterAllCallback {

    private static final String[] NAMES = {"kafka", "org.apache.kafka", "io.rackspan", "state"};

    private final Map<String, Level> before = new HashMap<>();

    static void logs() {
        for (String name : NAMES)
            Configurator.setLevel(name, Level.OFF);
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        for (String name : NAMES)
            before.put(name, LogManager.getLogger(name).getLevel());
        logs();
    }

    @Override
    public void afterAll(ExtensionContext context) {
        before.forEach(Configurator::setLevel);
    }
}
