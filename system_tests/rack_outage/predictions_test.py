"""Predictions of kafka-racks.sh for a lost rack and for stopped brokers, beside the real loss and the real stops."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.process import How
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.lib.kafka_racks import ask
from system_tests.lib.taken_away import brokers_away

RACK_A = {1, 2}  # rack b has brokers 3 and 4, rack c has 5 and 6
DOWN = {6}  # all the time, so that a topic has a replica that is not in sync
TOPICS: dict[str, tuple[list[int], dict[str, object]]] = {
    "three": ([1, 3, 5], {"min_insync_replicas": 2}),
    "spread": ([1, 3, 5], {"min_insync_replicas": 2, "min_insync_racks": 2}),
    "two": ([3, 1], {"min_insync_replicas": 2}),
    "one": ([1], {}),
    "four": ([1, 2, 3, 4], {"min_insync_replicas": 2, "min_insync_racks": 2}),
    "lagging": ([1, 3, 6], {"min_insync_replicas": 2}),
    "never": ([3, 4], {"min_insync_replicas": 3}),
}
RECORDS = 5
STOPPED: dict[int, set[str]] = {5: set(), 3: {"two", "lagging"}}  # what suffers without these brokers
MODES = {"acksAll": "all", "acksMinInsyncReplicas": acks.QUORUM, "acks1": "1"}
SECONDS = 90.0


class Predictions(RackTest):
    """Three racks of two brokers; the controller is not taken away."""

    def test_predictions_of_a_lost_rack_and_of_stopped_brokers_come_true(self) -> None:
        """Rack a dies; before that brokers 5 and 3 are shut down, of which the one is no loss and the other is."""
        with self.racks(self.spec("a:2,b:2,c:2"), [expect.REPLICAS_REFUSED]) as kafka:
            topics = self.topics(kafka)
            for topic, (replicas, settings) in TOPICS.items():
                topics.create(topic, [replicas], **settings)
            sent: dict[str, list[Acks]] = {topic: [] for topic in TOPICS}
            with self.without(kafka, DOWN, set()):
                for broker, suffering in STOPPED.items():
                    code, answer = ask(kafka, "ok-to-stop", str(broker))
                    assert {o["topic"] for o in answer["obstacles"]} == suffering, answer
                    assert (code, answer["answer"]) == ((1, "no") if suffering else (0, "yes")), answer
                    with self.without(kafka, {broker}, DOWN, how="stop"):
                        touched = [topic for topic, (replicas, _) in TOPICS.items() if broker in replicas]
                        now = {t for t in touched if self.try_all(kafka, f"without-{broker}-{t}", t, sent)}
                    # Whatever is in sync, `never` is refused: stopping a broker changes nothing for it
                    assert now - {"never"} == suffering, f"without broker {broker}: {now}"
                code, answer = ask(kafka, "what-if", "--lose", "a")
                assert (code, answer["answer"]) == (1, "no"), answer
                (scenario,) = answer["scenarios"]
                assert (set(scenario["lost"]["brokers"]), scenario["quorum"]) == (RACK_A, "yes"), scenario
                with self.without(kafka, RACK_A, DOWN):
                    for predicted in scenario["partitions"]:
                        self.compare(kafka, predicted, sent)
            assert {p["topic"] for p in scenario["partitions"]} == set(TOPICS)
            for topic in TOPICS:
                # Each topic is predicted to be safe in the loss of processes
                expect.once_each(sent[topic], self.read(kafka, topic))

    def compare(self, kafka: KafkaRacks, predicted: dict[str, Any], sent: dict[str, list[Acks]]) -> None:
        """Holds the prediction for the partition of a topic against leader, ISR and answers of the cluster."""
        topic = predicted["topic"]
        (now,) = (p for p in kafka.kafka.view().partitions if p.topic == topic)
        assert predicted["leader"] == now.leader, f"{predicted}, the leader is {now.leader}"
        # Where one replica is enough there is no electable set
        few = "yes" if "min_insync_replicas" in TOPICS[topic][1] else "unknown"
        assert predicted["safe"] == {"acksAll": "yes", "acksMinInsyncReplicas": few}, predicted
        served = now.leader >= 0
        assert predicted["readable"] == predicted["electable"] == ("yes" if served else "no"), predicted
        if served:
            assert set(predicted["isr"]) == set(now.isr), f"{predicted}, the ISR is {now.isr}"
        for key, mode in MODES.items():
            error = self.try_all(kafka, f"lost-{mode[:3]}-{topic}", topic, sent, mode) if served else "no leader"
            text = f"{predicted}, observed with {mode}: {error}"
            assert predicted["writable"][key] == ("no" if error else "yes"), text
            if served and mode != "1":
                assert predicted["refusal"] == (error or None), text

    def try_all(self, kafka: KafkaRacks, name: str, topic: str, sent: dict[str, list[Acks]], mode: str = "all") -> str:
        """Sends some records, each tried once. Returns the error that all of them got, or nothing."""
        result, error = self.try_once(kafka, name, topic, RECORDS, mode)
        sent[topic].append(result)
        return error

    def without(
        self, kafka: KafkaRacks, brokers: set[int], down: set[int], how: How = "kill"
    ) -> AbstractContextManager[None]:
        """Takes brokers away, where `down` are already, for the time of a block."""
        replicas = {topic: assigned for topic, (assigned, _) in TOPICS.items()}
        return brokers_away(kafka, replicas, brokers, down, self.run, SECONDS, how)
