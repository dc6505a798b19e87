"""Predictions of kafka-racks.sh for clusters, topics and losses drawn by seed, beside the real losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ducktape.mark import matrix

from harness.common.wait import Pending, WaitTimeout, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.process import nodes_down
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.lib.drawn_losses import AnswerCounts, DrawnCluster, DrawnLoss, DrawnTopic, draw, suffers, touched
from system_tests.lib.kafka_racks import ask

RECORDS = 3
MODES = {"acksAll": "all", "acksMinInsyncReplicas": acks.QUORUM}
SECONDS = 120.0
SETTLED_S = 15.0


class DrawnPredictions(RackTest):
    """Three losses of each cluster. The controller is not taken away."""

    def test_six_losses_are_as_predicted(self) -> None:
        """No answer of what-if, ok-to-stop and preflight is wrong in the unsafe direction."""
        self.play(range(2))

    @matrix(first=[2, 5, 8, 11])  # type: ignore[untyped-decorator]  # ducktape has no types
    def test_further_losses_are_as_predicted(self, first: int) -> None:
        """The same for nine more each: together with the six above 42 losses."""
        self.play(range(first, first + 3))

    def play(self, seeds: Iterable[int]) -> None:
        """All losses of the clusters of these seeds. Pessimistic answers are noted, unsafe ones are failures."""
        answers = AnswerCounts()
        for seed in seeds:
            self.cluster(draw(seed), answers)
        self.run.event("note", "predictions", "point", answers.as_dict())
        self.logger.info("predictions: %s; pessimistic: %s", answers.as_dict(), answers.pessimistic)
        assert not answers.unsafe, (
            f"{len(answers.unsafe)} of {answers.total} answers are wrong in the unsafe direction: {answers.unsafe}"
        )
        assert answers.right > answers.total / 2, f"too few answers that are known: {answers.as_dict()}"

    def cluster(self, drawn: DrawnCluster, answers: AnswerCounts) -> None:
        """One cluster: what a setting would refuse, then each loss."""
        with self.racks(self.spec(drawn.spec, settings=acks.CALM), [expect.REPLICAS_REFUSED]) as kafka:
            topics = self.topics(kafka)
            for topic in drawn.topics:
                topics.create(topic.name, [topic.replicas], **topic.settings)
            sent: dict[str, list[Acks]] = {topic.name: [] for topic in drawn.topics}
            self.preflight(kafka, drawn, answers)
            for number, loss in enumerate(drawn.losses):
                with self.without(kafka, drawn, loss.down, frozenset()):
                    check = self.stopped if loss.how == "stop" else self.lost
                    check(kafka, drawn, loss, f"{drawn.seed}-{number}", sent, answers)
            for topic in drawn.topics:
                # Each loss is one of processes: what acks=all acknowledged is safe
                expect.once_each(sent[topic.name], self.read(kafka, topic.name))

    def lost(
        self,
        kafka: KafkaRacks,
        drawn: DrawnCluster,
        loss: DrawnLoss,
        name: str,
        sent: dict[str, list[Acks]],
        answers: AnswerCounts,
    ) -> None:
        """Asks what-if for each topic, then kills the brokers."""
        _, answer = ask(kafka, "what-if", "--lose", loss.what)
        (scenario,) = answer["scenarios"]
        assert set(scenario["lost"]["brokers"]) >= loss.brokers, scenario
        with self.without(kafka, drawn, loss.brokers, loss.down):
            for predicted in scenario["partitions"]:
                topic = predicted["topic"]
                now = partition(kafka, topic)
                text = f"{drawn}, {loss}: {predicted}, observed {now}"
                assert predicted["leader"] == now.leader, text
                served = now.leader >= 0
                assert not served or set(predicted["isr"]) == set(now.isr), text
                answers.evaluate(predicted["readable"], served, f"readable: {text}")
                answers.evaluate(predicted["electable"], served, f"electable: {text}")
                assert predicted["safe"]["acksAll"] == "yes", text
                for key, mode in MODES.items():
                    error = (
                        self.try_all(kafka, f"lost-{name}-{mode[:3]}-{topic}", topic, sent, mode)
                        if served
                        else "no leader"
                    )
                    answers.evaluate(predicted["writable"][key], not error, f"{key} ended with {error or 'OK'}: {text}")
                    if served and predicted["writable"][key] != "unknown":
                        assert predicted["refusal"] == (error or None), f"{key} ended with {error or 'OK'}: {text}"

    def stopped(
        self,
        kafka: KafkaRacks,
        drawn: DrawnCluster,
        loss: DrawnLoss,
        name: str,
        sent: dict[str, list[Acks]],
        answers: AnswerCounts,
    ) -> None:
        """ok-to-stop, then the brokers are shut down: a topic suffers that loses what it had before."""
        concerned = touched(drawn.topics, loss.brokers)
        before = {t.name: self.served(kafka, f"before-{name}-{t.name}", t, sent) for t in concerned}
        code, answer = ask(kafka, "ok-to-stop", *map(str, sorted(loss.brokers)))
        assert (code == 0) == (answer["answer"] == "yes"), answer
        obstacles = {o["topic"]: o["answer"] for o in answer["obstacles"]}
        with self.without(kafka, drawn, loss.brokers, loss.down, how="stop"):
            for topic in concerned:
                after = self.served(kafka, f"stopped-{name}-{topic.name}", topic, sent)
                text = (
                    f"{drawn}, {loss}: {topic.name} {before[topic.name]} then {after}, obstacles {answer['obstacles']}"
                )
                # Where writes were refused already a further loss is an obstacle, and nothing shows it
                if before[topic.name]["writable"] or topic.name not in obstacles:
                    answers.evaluate(obstacles.get(topic.name, "yes"), not suffers(before[topic.name], after), text)

    def preflight(self, kafka: KafkaRacks, drawn: DrawnCluster, answers: AnswerCounts) -> None:
        """Asks what a cluster default would refuse, then sets it for a while."""
        setting = f"min.insync.racks={drawn.min_racks}"
        _, answer = ask(kafka, "preflight", "--set", setting)
        predicted = {t["topic"]: t for t in answer["topics"]}
        kafka.tool(
            "kafka-configs.sh", "--alter", "--entity-type", "brokers", "--entity-default", "--add-config", setting
        )
        for topic in drawn.topics:
            if topic.follows_default:
                document = predicted[topic.name]
                refused = bool(document["refusingNow"] or document["refusingMore"])
                text = f"{setting} in {drawn}: {document}"
                answers.evaluate("no" if refused else "yes", self.settled(kafka, topic, not refused), text)
        kafka.tool(
            "kafka-configs.sh",
            "--alter",
            "--entity-type",
            "brokers",
            "--entity-default",
            "--delete-config",
            "min.insync.racks",
        )

    def settled(self, kafka: KafkaRacks, topic: DrawnTopic, taken: bool) -> bool:
        """True if writes are taken, asked until that is as expected, or for as long as brokers may need to know it."""
        tried = 0

        def probe() -> bool | Pending:
            nonlocal tried
            tried += 1
            result = self.produce(kafka, f"default-{topic.name}-{tried}", topic.name, RECORDS, acks="all", retries=0)
            return {error for error, _ in result.counts} == {"OK"} or Pending("refused")

        if taken:
            try:
                return wait_for("the default to be known", probe, SETTLED_S)
            except WaitTimeout:
                return False
        try:
            wait_for("the default to be known", lambda: probe() is not True or Pending("taken"), SETTLED_S)
        except WaitTimeout:
            return True
        return False

    def served(self, kafka: KafkaRacks, name: str, topic: DrawnTopic, sent: dict[str, list[Acks]]) -> dict[str, bool]:
        """Tries whether a topic is readable and writable now."""
        readable = partition(kafka, topic.name).leader >= 0
        return {"readable": readable, "writable": readable and not self.try_all(kafka, name, topic.name, sent, "all")}

    def try_all(self, kafka: KafkaRacks, name: str, topic: str, sent: dict[str, list[Acks]], mode: str) -> str:
        """Sends some records, each tried once. Returns the error that all of them got, or nothing."""
        result = self.produce(kafka, name, topic, RECORDS, acks=mode, retries=0)
        if mode == "all":
            sent[topic].append(result)
        (error,) = {error for error, _ in result.counts}
        return "" if error == "OK" else error

    @contextmanager
    def without(
        self, kafka: KafkaRacks, drawn: DrawnCluster, brokers: frozenset[int], down: frozenset[int], how: Any = "kill"
    ) -> Iterator[None]:
        """Takes brokers away, where `down` are already, for the time of a block, once the controller has reacted."""
        if not brokers:
            yield
            return
        with nodes_down(kafka.kafka, [kafka.broker(b).name for b in sorted(brokers)], how=how, events=self.run):
            reacted(kafka, drawn, brokers | down)
            yield
        reacted(kafka, drawn, down)


def reacted(kafka: KafkaRacks, drawn: DrawnCluster, down: frozenset[int]) -> None:
    """Waits until each topic has the in-sync replicas that it can have without these brokers, for its leader too."""
    for topic in drawn.topics:
        if left := set(topic.replicas) - down:
            kafka.wait_in_sync(topic.name, left, SECONDS)
        else:
            wait_for(f"{topic.name} to have no leader", partial(leaderless, kafka, topic.name), SECONDS)


def leaderless(kafka: KafkaRacks, topic: str) -> bool | Pending:
    """True when the topic's partition has no leader."""
    leader = partition(kafka, topic).leader
    return leader == -1 or Pending(f"leader {leader}")


def partition(kafka: KafkaRacks, topic: str) -> Any:
    """The topic's only partition, as brokers know it."""
    return next(p for p in kafka.kafka.view().partitions if p.topic == topic)
