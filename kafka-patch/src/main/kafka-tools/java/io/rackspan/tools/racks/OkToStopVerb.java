// SPDX-License-Identifier: Apache-2.0
package io.rackspan.tools.racks;

import io.rackspan.prediction.Loss;
import io.rackspan.prediction.Verdict;
import io.rackspan.tools.racks.StopCheck.Obstacle;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** ok-to-stop: may these brokers be shut down now, and if not, what to wait for. */
final class OkToStopVerb {

    /** Topics may have thousands of partitions: a person needs the first ones. */
    private static final int SHOWN = 20;

    private OkToStopVerb() {
    }

    /** True if some time may end all that is in the way. */
    static boolean mayWait(List<Obstacle> obstacles) {
        return obstacles.stream().allMatch(obstacle -> !obstacle.waitFor().isEmpty() || obstacle.answer() == Verdict.UNKNOWN && obstacle.topic() != null);
    }

    static int print(Loss loss, List<Obstacle> obstacles, Output output) {
        Verdict answer = StopCheck.verdict(obstacles);
        if (output.isJson()) {
            Map<String, Object> document = Output.document("ok-to-stop", answer);
            document.put("racks", loss.racks());
            document.put("brokers", loss.brokers());
            document.put("mayWait", !obstacles.isEmpty() && mayWait(obstacles));
            document.put("obstacles", obstacles.stream().map(OkToStopVerb::document).toList());
            output.json(document);
            return answer.exitCode();
        }
        if (obstacles.isEmpty()) {
            output.line("ok to stop " + loss.words());
            return answer.exitCode();
        }
        output.line((answer == Verdict.NO ? "not ok to stop " : "not known whether it is ok to stop ") + loss.words());
        List<List<Object>> rows = new ArrayList<>();
        for (Obstacle obstacle : obstacles.subList(0, Math.min(SHOWN, obstacles.size())))
            rows.add(List.of(obstacle.topic() == null ? "(controllers)" : obstacle.topic() + "-" + obstacle.partition(), obstacle.reason(),
                obstacle.waitFor().isEmpty() ? "-" : obstacle.waitFor() + (obstacle.topic() == null ? " running" : " in sync")));
        output.table(List.of("PARTITION", "WITHOUT THEM", "WAIT FOR"), rows);
        if (obstacles.size() > SHOWN)
            output.line("and " + (obstacles.size() - SHOWN) + " more");
        output.line(mayWait(obstacles) ? "Wait for these: add --wait SECONDS." :
            "Waiting does not help where nothing is named to wait for: do as the reason says, or add replicas, in other racks if racks are required, or lower what is required.");
        return answer.exitCode();
    }

    private static Map<String, Object> document(Obstacle obstacle) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("topic", obstacle.topic());
        found.put("partition", obstacle.partition());
        found.put("answer", obstacle.answer());
        found.put("reason", obstacle.reason());
        found.put("waitFor", obstacle.waitFor());
        return found;
    }
}
