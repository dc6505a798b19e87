"""Times of kafka-racks.sh on a large cluster: their table, and one question of a small cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.benchmark.large_cluster import DESCRIBE, Answer, ask, command, fill, summary
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import RackspanError


def _answers(seconds: dict[str, tuple[float, ...]]) -> list[Answer]:
    return [Answer(name, number, s, 10) for name, values in seconds.items() for number, s in enumerate(values)]


def test_ratios_are_of_answers_of_the_same_round() -> None:
    own = {DESCRIBE: (2.0, 4.0, 2.0, 2.0, 2.0), "status": (3.0, 2.0, 4.0, 4.9, 4.0), "audit": (6.0, 4.0, 6.0, 6.0, 6.0)}
    table = summary(_answers({**own, "ledger": (6.0, 6.0, 6.0, 5.1, 9.0)}))
    assert f"| {DESCRIBE} | 2.00 | 2.00 to 4.00 | 1.00 |  |" in table
    assert "| status | 4.00 | 2.00 to 4.90 | 2.00 | met |" in table
    assert "| audit | 6.00 | 4.00 to 6.00 | 3.00 | not shown |" in table
    assert "| ledger | 6.00 | 5.10 to 9.00 | 3.00 | missed |" in table


def test_few_rounds_show_nothing() -> None:
    table = summary(_answers({DESCRIBE: (2.0,) * 4, "status": (3.0,) * 4}))
    assert "| status | 3.00 | 3.00 to 3.00 | 1.50 | not enough runs |" in table


@pytest.mark.cluster
def test_a_question_is_answered_about_all_partitions(shared: KafkaCluster, tmp_path: Path) -> None:
    fill(shared, 5)
    answer = ask(DESCRIBE, 2, command(shared, DESCRIBE), tmp_path)
    assert (answer.question, answer.round) == (DESCRIBE, 2)
    assert answer.seconds > 0 and answer.printed > 5 * len("Topic: topic-0 Partition: 0")


def test_a_tool_that_could_not_answer_is_reported_with_what_it_wrote(tmp_path: Path) -> None:
    with pytest.raises(RackspanError, match="status could not answer") as raised:
        ask("status", 0, ["/bin/sh", "-c", "echo no broker answers >&2; exit 3"], tmp_path)
    assert raised.value.observed == "no broker answers\n"
