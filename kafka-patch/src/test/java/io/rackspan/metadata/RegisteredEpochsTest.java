// SPDX-License-Identifier: Apache-2.0
package io.rackspan.metadata;

import org.apache.kafka.image.ClusterImage;
import org.apache.kafka.metadata.BrokerRegistration;

import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.Map;

import static org.junit.jupiter.api.Assertions.assertEquals;

class RegisteredEpochsTest {

    private static RegisteredEpochs of(int... ids) {
        Map<Integer, BrokerRegistration> brokers = new HashMap<>();
        for (int id : ids)
            brokers.put(id, new BrokerRegistration.Builder().setId(id).setEpoch(100L + id).setFenced(id == 3).build());
        return new RegisteredEpochs(new ClusterImage(brokers, Map.of()));
    }

    @Test
    void epochsAreThoseOfTheRegistrationsWhateverTheIds() {
        RegisteredEpochs epochs = of(0, 3, 4095, 4096, 100_000);
        for (int id : new int[] {0, 3, 4095, 4096, 100_000})
            assertEquals(100L + id, epochs.of(id));
    }

    @Test
    void brokersThatAreNotRegisteredHaveNone() {
        for (int id : new int[] {-1, 1, 2, 4, 4094, 4097, Integer.MAX_VALUE}) {
            assertEquals(-1, of(0, 3, 4095, 4096).of(id));
            assertEquals(-1, RegisteredEpochs.NONE.of(id));
        }
    }
}
