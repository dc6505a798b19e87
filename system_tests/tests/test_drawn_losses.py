"""Draws of clusters and losses have all that the system test needs; answers are evaluated as they should."""

from __future__ import annotations

import pytest

from system_tests.lib.drawn_losses import AnswerCounts, draw, suffers, touched

SEEDS = range(200)


def test_a_seed_gives_the_same_cluster_each_time() -> None:
    assert draw(3) == draw(3)
    assert draw(3) != draw(4)


def test_clusters_have_all_that_can_be_drawn() -> None:
    clusters = [draw(seed) for seed in SEEDS]
    losses = [loss for cluster in clusters for loss in cluster.losses]
    assert {len(c.racks) for c in clusters} == {2, 3, 4}
    assert {len(t.replicas) for c in clusters for t in c.topics} == {3, 4, 5}
    assert any(len({len(brokers) for brokers in c.racks.values()}) > 1 for c in clusters), "none is uneven"
    assert {loss.how for loss in losses} == {"kill", "stop"}
    assert {bool(loss.racks) for loss in losses} == {bool(loss.down) for loss in losses} == {True, False}
    assert {t.follows_default for c in clusters for t in c.topics} == {True, False}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_leaves_a_broker_and_takes_complete_racks(seed: int) -> None:
    cluster = draw(seed)
    brokers = {broker for members in cluster.racks.values() for broker in members}
    assert brokers == set(range(1, len(brokers) + 1))
    for loss in cluster.losses:
        assert loss.brokers and loss.brokers | loss.down < brokers and not loss.brokers & loss.down
        assert not loss.racks or loss.brokers == {b for rack in loss.racks for b in cluster.racks[rack]}
        assert loss.what == (",".join(f"rack:{r}" for r in loss.racks) or ",".join(map(str, sorted(loss.brokers))))
    for topic in cluster.topics:
        assert len(set(topic.replicas)) == len(topic.replicas) and set(topic.replicas) <= brokers


def test_yes_where_it_was_no_is_unsafe_and_no_where_it_was_yes_is_pessimistic() -> None:
    answers = AnswerCounts()
    for predicted, observed in (("yes", True), ("no", False), ("unknown", True), ("yes", False), ("no", True)):
        answers.evaluate(predicted, observed, f"{predicted} {observed}")
    assert (answers.right, answers.unknown, answers.unsafe, answers.pessimistic) == (2, 1, ["yes False"], ["no True"])
    assert answers.as_dict() == {"answers": 5, "right": 2, "unknown": 1, "pessimistic": 1, "unsafe": 1}
    with pytest.raises(AssertionError, match="'maybe': x"):
        answers.evaluate("maybe", True, "x")


def test_a_topic_suffers_that_loses_what_it_had() -> None:
    both, none = {"readable": True, "writable": True}, {"readable": False, "writable": False}
    assert suffers(both, none) and suffers(both, {"readable": True, "writable": False})
    assert not suffers(none, none) and not suffers(both, both) and not suffers(none, both)


def test_topics_with_a_replica_there_are_touched() -> None:
    cluster = draw(1)
    for broker in range(1, 7):
        assert touched(cluster.topics, {broker}) == [t for t in cluster.topics if broker in t.replicas]
