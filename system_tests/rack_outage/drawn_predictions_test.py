"""Predictions of kafka-racks.sh for clusters, topics and losses drawn by seed, beside the real losses."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ducktape.mark import matrix

from harness.common.wait import Pending, WaitTimeout, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.load_service import Acks
from harness.faults.process import How
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.lib.drawn_losses import AnswerCounts, DrawnCluster, DrawnLoss, DrawnTopic, draw, suffers, touched
from system_tests.lib.kafka_racks import ask
from system_tests.lib.taken_away import brokers_away

RECORDS = 3
MODES = {"acksAll": "all", "acksMinInsyncReplicas": acks.QUORUM}
SECONDS = 120.0
SETTLED_S = 15.0


@dataclass(frozen=True)
class Play:
    """One running cluster: what was drawn, what was sent with acks=all by topic, and the answers so far."""

    kafka: KafkaRacks
    drawn: DrawnCluster
    sent: dict[str, list[Acks]]
    answers: AnswerCounts


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
            play = Play(kafka, drawn, {topic.name: [] for topic in drawn.topics}, answers)
            self.preflight(play)
            for number, loss in enumerate(drawn.losses):
                with self.without(play, loss.down, frozenset()):
                    check = self.stopped if loss.how == "stop" else self.lost
                    check(play, loss, f"{drawn.seed}-{number}")
            for topic in drawn.topics:
                # Each loss is one of processes: what acks=all acknowledged is safe
                expect.once_each(play.sent[topic.name], self.read(kafka, topic.name))

    def lost(self, play: Play, loss: DrawnLoss, name: str) -> None:
        """Asks what-if for each topic, then kills the brokers."""
        _, answer = ask(play.kafka, "what-if", "--lose", loss.what)
        (scenario,) = answer["scenarios"]
        assert set(scenario["lost"]["brokers"]) >= loss.brokers, scenario
        with self.without(play, loss.brokers, loss.down):
            for predicted in scenario["partitions"]:
                topic = predicted["topic"]
                now = partition(play.kafka, topic)
                text = f"{play.drawn}, {loss}: {predicted}, observed {now}"
                assert predicted["leader"] == now.leader, text
                served = now.leader >= 0
                assert not served or set(predicted["isr"]) == set(now.isr), text
                play.answers.evaluate(predicted["readable"], served, f"readable: {text}")
                play.answers.evaluate(predicted["electable"], served, f"electable: {text}")
                assert predicted["safe"]["acksAll"] == "yes", text
                for key, mode in MODES.items():
                    error = (
                        self.try_all(play, f"lost-{name}-{mode[:3]}-{topic}", topic, mode) if served else "no leader"
                    )
                    play.answers.evaluate(
                        predicted["writable"][key], not error, f"{key} ended with {error or 'OK'}: {text}"
                    )
                    if served and predicted["writable"][key] != "unknown":
                        assert predicted["refusal"] == (error or None), f"{key} ended with {error or 'OK'}: {text}"

    def stopped(self, play: Play, loss: DrawnLoss, name: str) -> None:
        """ok-to-stop, then the brokers are shut down: a topic suffers that loses what it had before."""
        concerned = touched(play.drawn.topics, loss.brokers)
        before = {t.name: self.served(play, f"before-{name}-{t.name}", t) for t in concerned}
        code, answer = ask(play.kafka, "ok-to-stop", *map(str, sorted(loss.brokers)))
        assert (code == 0) == (answer["answer"] == "yes"), answer
        obstacles = {o["topic"]: o["answer"] for o in answer["obstacles"]}
        with self.without(play, loss.brokers, loss.down, how="stop"):
            for topic in concerned:
                after = self.served(play, f"stopped-{name}-{topic.name}", topic)
                observed = f"{topic.name} {before[topic.name]} then {after}"
                text = f"{play.drawn}, {loss}: {observed}, obstacles {answer['obstacles']}"
                # Where writes were refused already a further loss is an obstacle, and nothing shows it
                if before[topic.name]["writable"] or topic.name not in obstacles:
                    play.answers.evaluate(
                        obstacles.get(topic.name, "yes"), not suffers(before[topic.name], after), text
                    )

    def preflight(self, play: Play) -> None:
        """Asks what a cluster default would refuse, then sets it for a while."""
        setting = f"min.insync.racks={play.drawn.min_racks}"
        _, answer = ask(play.kafka, "preflight", "--set", setting)
        predicted = {t["topic"]: t for t in answer["topics"]}
        default = ("kafka-configs.sh", "--alter", "--entity-type", "brokers", "--entity-default")
        play.kafka.tool(*default, "--add-config", setting)
        for topic in play.drawn.topics:
            if topic.follows_default:
                document = predicted[topic.name]
                refused = bool(document["refusingNow"] or document["refusingMore"])
                text = f"{setting} in {play.drawn}: {document}"
                play.answers.evaluate("no" if refused else "yes", self.settled(play.kafka, topic, not refused), text)
        play.kafka.tool(*default, "--delete-config", "min.insync.racks")

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

    def served(self, play: Play, name: str, topic: DrawnTopic) -> dict[str, bool]:
        """Tries whether a topic is readable and writable now."""
        readable = partition(play.kafka, topic.name).leader >= 0
        return {"readable": readable, "writable": readable and not self.try_all(play, name, topic.name, "all")}

    def try_all(self, play: Play, name: str, topic: str, mode: str) -> str:
        """Sends some records, each tried once. Returns the error that all of them got, or nothing."""
        result, error = self.try_once(play.kafka, name, topic, RECORDS, mode)
        if mode == "all":
            play.sent[topic].append(result)
        return error

    def without(
        self, play: Play, brokers: frozenset[int], down: frozenset[int], how: How = "kill"
    ) -> AbstractContextManager[None]:
        """Takes brokers away, where `down` are already, for the time of a block."""
        replicas = {topic.name: topic.replicas for topic in play.drawn.topics}
        return brokers_away(play.kafka, replicas, brokers, down, self.run, SECONDS, how)


def partition(kafka: KafkaRacks, topic: str) -> Any:
    """The topic's only partition, as brokers know it."""
    return next(p for p in kafka.kafka.view().partitions if p.topic == topic)
