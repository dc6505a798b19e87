package io.rackspan.simulation;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;

/** Keeps what brokers and controllers log of millions of elections from being written. */
final class Quiet {

    private Quiet() { }

    static void logs() {
        for (String name : new String[] {"kafka", "org.apache.kafka", "io.rackspan", "state"})
            Configurator.setLevel(name, Level.OFF);
    }
}
