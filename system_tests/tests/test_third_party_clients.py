"""third-party clients: their programs' lines, the evaluate of the matrix, the tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.common.errors import RackspanError
from harness.common.paths import project_root
from harness.common.progress import Progress
from harness.ducktape_support.load_service import Acks
from harness.ducktape_support.steered_service import Row
from harness.run_folder.run_folder import arrow_schema
from harness.third_party_clients import prepare, registry
from harness.third_party_clients.output import Records, report_read
from harness.third_party_clients.registry import CLIENTS, named
from system_tests.third_party_clients import outcomes, table
from system_tests.third_party_clients.outcomes import ClientResult, Reported


def row(seq: int, result: str = "OK", cause: str = "", due_ns: int = 0, seconds: float = 1.0) -> Row:
    """The outcome of one record."""
    done_ns = due_ns + int(seconds * 1e9) if result else 0
    offset = seq if result == "OK" else -1
    return {
        "producer": "p", "seq": seq, "partition": 0, "offset": offset, "due_ns": due_ns, "sent_ns": due_ns,
        "done_ns": done_ns, "result": result, "cause": cause,
    }  # fmt: skip


def reported(*rows: Row, ended: str = "", refused: int = 9) -> Reported:
    return Reported(Acks(list(rows)), ended, refused)


def result(idempotent: bool = True) -> ClientResult:
    return ClientResult("c", "Client", "1.0", idempotent)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_program_reports_of_every_record_once_with_the_columns_of_the_run_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = Records("p", "t", [0, 2], 4, rate=100)
    values = [records.sending(seq) for seq in range(3)]
    records.acknowledged(0, 0, 7)
    records.raised(1, ValueError("x"))
    records.summary()
    lines = lines_of(capsys)
    assert [(line["seq"], line["partition"], line["offset"], line["result"]) for line in lines[:-1]] == [
        (0, 0, 7, "OK"),
        (1, 2, -1, "ValueError"),
        (2, 0, -1, ""),
    ]
    assert set(arrow_schema("acks").names) <= set(lines[0])
    assert lines[2]["done_ns"] == 0 and lines[-1] == {"event": "summary", "producer": "p", "records": 3}
    report_read(1, 5, values[2])
    assert lines_of(capsys) == [{"event": "read", "partition": 1, "offset": 5, "producer": "p", "seq": 2}]


def test_the_registry_has_one_of_each_kind_and_only_one_that_is_ours() -> None:
    assert {c.language for c in CLIENTS} == {"Java", "Python", "Node", "Go", "C"}
    assert [c.key for c in CLIENTS if c.ours] == ["rackspan"]
    assert named("aiokafka").skip_reason == ""


def test_a_client_without_its_tools_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    made: list[str] = []
    monkeypatch.setattr(prepare, "gradle", lambda tasks, label, progress: made.extend(tasks))
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "npm" else f"/usr/bin/{name}")
    progress = Progress()
    monkeypatch.setattr(progress, "note", notes.append)
    prepare.prepare(progress)
    assert notes == ["no npm on this machine: install it, or its clients are not run"]
    assert made == ["--continue", "oldJavaClient", "sparkConnector", "goClient"]
    monkeypatch.setattr(registry, "NODE_PROGRAM", project_root() / "build" / "none" / "client.js")
    assert named("kafkajs").skip_reason == "build/none/client.js was not built"
    r = ClientResult("c", "Client", skip_reason=named("kafkajs").skip_reason)
    outcomes.skipped([result(), r])
    assert r.violations == ["not run: build/none/client.js was not built"]


def test_an_outage_that_ends_well() -> None:
    r = result()
    outcomes.outage_that_ends(r, reported(row(0), row(1)), [row(0), row(1)])
    assert r.violations == [] and r.cells == {"outage that ends": "retried, no loss, no duplicates"}


@pytest.mark.parametrize(
    ("observed", "read", "violation"),
    [
        (reported(row(0), row(1, "UNKNOWN")), [row(0)], "the application saw {'UNKNOWN': 1}"),
        (reported(row(0), row(1, "")), [row(0)], "1 records without an answer, first [1]"),
        (reported(row(0), refused=0), [row(0)], "it was never refused, so nothing was shown"),
        (reported(row(0), row(1)), [row(1)], "1 acknowledged records are lost, first [0]"),
        (reported(row(0)), [row(0), row(0)], "1 records are there more than once, first [0]"),
        (reported(row(0), ended="exit code 1"), [row(0)], "its program ended badly: exit code 1"),
    ],
)
def test_an_outage_that_ends_badly(observed: Reported, read: list[Row], violation: str) -> None:
    r = result()
    outcomes.outage_that_ends(r, observed, read)
    assert f"outage that ends: {violation}" in r.violations
    assert r.cells == {"outage that ends": "**fails**"}


def test_retries_of_the_library_end_before_the_rack_is_back() -> None:
    r = result(idempotent=False)
    late = row(1, "GaveUp", due_ns=10, seconds=1)
    outcomes.own_retries(r, reported(row(0), late), [row(0)], 5, late["done_ns"] + 1)
    assert r.violations == [] and r.cells == {outcomes.OWN_RETRIES: "gives records up: `GaveUp`"}
    outcomes.own_retries(r, reported(row(0), late), [], 5, late["done_ns"])
    assert r.violations == [
        "with its own retries: it gave no record up before the rack was back",
        "with its own retries: 1 acknowledged records are lost, first [0]",
    ]


def test_a_client_that_is_not_idempotent_may_write_twice() -> None:
    r = result(idempotent=False)
    outcomes.outage_that_ends(r, reported(row(0)), [row(0), row(0)])
    assert r.violations == [] and r.numbers["outage that ends: twice"] == 1


@pytest.mark.parametrize(
    ("observed", "violation"),
    [
        (reported(row(0), row(1, "TIMEOUT", "X", due_ns=10, seconds=7)), ""),
        (reported(row(0), row(1, due_ns=10)), "1 records were acknowledged without the rack"),
        (reported(row(0)), "the application saw no error"),
        (
            reported(row(1, "TIMEOUT", due_ns=10, seconds=199)),
            "the application saw the error after 199.0 s, its limit was 8 s",
        ),
        (reported(row(1, "TIMEOUT", due_ns=10)), "no record was tried for longer than 1.0 of 8 s: it does not retry"),
    ],
)
def test_an_outage_that_stays(observed: Reported, violation: str) -> None:
    r = result()
    outcomes.outage_that_stays(r, observed, [row(0), row(1)], begin_ns=5, limit_s=8)
    assert r.violations[:1] == ([f"outage that stays: {violation}"] if violation else [])


def test_a_mistaken_topic_is_final_where_each_record_was_refused_once() -> None:
    for refused, words in ((3, "`BAD` at once"), (4, "`BAD`, retried until its limit")):
        r = result()
        outcomes.mistaken_topic(r, reported(row(0, "BAD"), row(1, "BAD"), refused=refused), 8)
        assert r.violations == [] and r.cells == {"topic that requires too much": words}
    r = result()
    outcomes.mistaken_topic(r, reported(row(0), refused=0), 8)
    assert len(r.violations) == 2


def test_a_reader_must_know_the_topic_and_read_what_is_there() -> None:
    metadata = {"brokers": [2, 1], "partitions": [{"partition": 0, "leader": 1, "replicas": [1, 2]}]}
    r = result()
    outcomes.reading(r, "", metadata, [row(0)], [row(0)], [[1, 2]])
    assert r.violations == []
    outcomes.reading(r, "", {**metadata, "brokers": [1]}, [row(0), row(2)], [row(0), row(1)], [[1, 2]])
    assert r.violations == [
        "metadata: it knows brokers [1], there are [1, 2]",
        "reads: 1 records not read, first [(0, 1, 'p', 1)]",
        "reads: 1 records read that are not there, first [(0, 2, 'p', 2)]",
    ]
    leaderless = {"brokers": [1, 2], "partitions": [{"partition": 0, "leader": -1, "replicas": [1, 2]}]}
    r = result()
    outcomes.reading(r, "", leaderless, [], [], [[1, 2]])
    assert r.violations == ["metadata: it knows no leader of partitions [0]"]


def test_without_the_mapping_only_records_of_the_outage_count() -> None:
    r = result()
    outcomes.without_mapping(r, reported(row(0, "EARLY"), row(1, "UNKNOWN", due_ns=10), row(2, due_ns=20)), begin_ns=5)
    assert r.cells == {"without the mapping": "gives records up: `UNKNOWN`"}
    assert r.violations == ["without the mapping: the application saw {'UNKNOWN': 1}"]


def test_a_document_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    good, gone = result(), ClientResult("g", "Gone", skip_reason="no tool")
    outcomes.outage_that_ends(good, reported(row(0), row(1)), [row(0), row(1)])
    file, page = tmp_path / table.MATRIX, tmp_path / "page.md"
    table.write(file, [good, gone])
    data = json.loads(file.read_text())
    rendered = table.render(table.MATRIX, data)
    assert "| Client | 1.0 | yes | retried, no loss, no duplicates |" in rendered
    assert "| Gone | not run: no tool |" in rendered
    empty = "a\n<!-- matrix.json -->\nold\n<!-- end of matrix.json -->\nb\n"
    page.write_text(table.fill(empty, table.MATRIX, rendered))
    assert page.read_text().startswith("a\n<!-- matrix.json -->\n| client |")
    table.check(file, page)
    # A client that did not run says nothing about the document.
    page.write_text(page.read_text().replace("not run: no tool", "2.0"))
    table.check(file, page)
    page.write_text(page.read_text().replace("no loss, no duplicates", "no loss"))
    with pytest.raises(AssertionError, match=r"page\.md does not have these lines"):
        table.check(file, page)
    with pytest.raises(RackspanError, match="the document has no place for matrix"):
        table.fill("text", table.MATRIX, rendered)


def test_the_page_has_a_line_for_every_client_in_each_table() -> None:
    text = (project_root() / "docs" / "reference" / "clients.md").read_text()
    for kind in table.COLUMNS:
        inside = text.split(f"<!-- {kind} -->")[1].split(f"<!-- end of {kind} -->")[0]
        wanted = [c for c in CLIENTS if c.short or kind != table.DEFAULTS]
        assert [c.title for c in wanted if f"| {c.title} |" not in inside] == []
        assert "**fails**" not in inside and "not run" not in inside
