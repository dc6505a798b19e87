// SPDX-License-Identifier: Apache-2.0
package io.rackspan.simulation;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * The cluster that a history begins with.
 *
 * @param racks           where brokers 1, 2 and so on are
 * @param replicas        the assignment, the preferred leader first
 * @param minRacks    the topic's min.insync.racks, if the level allows one; 1 is not set
 * @param level       of rackspan.version
 * @param staticRacks min.insync.racks in the controllers' server.properties; 1 is not set
 * @param stock       brokers of a distribution that does not know rackspan.version
 */
record Setup(List<String> racks, List<Integer> replicas, int minReplicas, int minRacks, int level, int staticRacks, Set<Integer> stock) {

    static Setup random(Random random, Set<Peril> perils) {
        int rackCount = 2 + random.nextInt(2);
        int brokers = 3 + random.nextInt(4);
        List<String> racks = new ArrayList<>();
        List<Integer> ids = new ArrayList<>();
        for (int i = 0; i < brokers; i++) {
            racks.add(String.valueOf((char) ('a' + i % rackCount)));
            ids.add(i + 1);
        }
        Collections.shuffle(ids, random);
        List<Integer> replicas = List.copyOf(ids.subList(0, 3 + random.nextInt(Math.min(3, brokers - 2))));
        int span = (int) replicas.stream().map(id -> racks.get(id - 1)).distinct().count();
        int minRacks = Math.min(span, List.of(1, 1, 2, 2, 2, 3).get(random.nextInt(6)));
        int minReplicas = List.of(1, 2, 2, 3).get(random.nextInt(4));
        Set<Integer> stock = new HashSet<>();
        int level = 1 + random.nextInt(2);
        int staticRacks = 1;
        if (perils.contains(Peril.LEVEL) && random.nextInt(3) == 0) {
            level = 0;
            staticRacks = Math.min(span, 1 + random.nextInt(2));
            for (int id = 1; id <= brokers; id++)
                if (random.nextInt(3) == 0)
                    stock.add(id);
        }
        return new Setup(racks, replicas, minReplicas, minRacks, level, staticRacks, stock);
    }

    String rackOf(int broker) {
        return racks.get(broker - 1);
    }

    int brokers() {
        return racks.size();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("brokers");
        for (int id = 1; id <= brokers(); id++)
            text.append(' ').append(id).append(" in rack ").append(rackOf(id)).append(stock.contains(id) ? " (stock)," : ",");
        return text + " replicas " + replicas + ", min.insync.replicas " + minReplicas + ", min.insync.racks " + minRacks + ", rackspan.version " + level +
            (staticRacks > 1 ? ", min.insync.racks " + staticRacks + " in the controllers' server.properties" : "");
    }
}
