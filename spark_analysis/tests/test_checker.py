"""The checker against corrupted histories, each found and named, and against clean ones, where it must be silent."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from spark_analysis.checker.anomalies import NAMES
from spark_analysis.checker.check import CheckResult, check
from spark_analysis.checker.cli import write_check
from spark_analysis.checker.facts import Settings, producers
from spark_analysis.checker.history import read_history
from spark_analysis.checker.page import page, text
from spark_analysis.checker.runner import InProcess
from spark_analysis.checker.timeline import CLOCK_NS
from spark_analysis.cli import main
from spark_analysis.tests.copies import REAL, TABLES, evaluated, folder, real
from spark_analysis.tests.corruptions import CORRUPTIONS
from spark_analysis.tests.generated import MS, SECOND, event
from spark_analysis.tests.quorum_histories import ALLOWED, ANOMALIES, stories
from spark_analysis.tests.simulated import simulated

SEEDS = (1,)
CLEAN = 50
_FATES = {"lost-write", "lost-without-election", "lost-by-minimal-isr"}


def test_every_corruption_is_found_and_named(tmp_path: Path) -> None:
    clean = real()
    parts = []
    for name, (_, corrupt) in CORRUPTIONS.items():
        for seed in SEEDS:
            part = clean.named(f"{name}-{seed}")
            corrupt(part, random.Random(seed))
            parts.append(part)
    found, _ = evaluated(folder(tmp_path / "run", [clean.named("clean"), *parts]))
    assert "clean" not in found
    missed = {
        f"{name}-{seed}": f"wanted {sorted(kinds)}, found {sorted(found.get(f'{name}-{seed}', {}))}"
        for name, (kinds, _) in CORRUPTIONS.items()
        for seed in SEEDS
        if not kinds <= set(found.get(f"{name}-{seed}", {}))
    }
    assert not missed
    assert len(CORRUPTIONS) >= 20
    shown = {kind for kinds, _ in CORRUPTIONS.values() for kind in kinds} | {kind for kind, _ in ANOMALIES.values()}
    assert shown | {"lost-to-election"} == set(NAMES), "a kind that nothing shows"


def test_a_loss_with_acks_min_insync_replicas_is_allowed_only_where_an_election_explains_it(tmp_path: Path) -> None:
    found, allowed = evaluated(folder(tmp_path / "run", stories().values()))
    for name in ALLOWED:
        assert found.get(name, {}) == {}, name
        assert allowed.get(name) == {"lost-to-election": 1}, name
    for name, (kind, _) in ANOMALIES.items():
        assert found.get(name) == {kind: 1}, f"{name}: {found.get(name)}"
        rest = {} if kind in _FATES else {"lost-to-election": 1}  # what is wrong there is not the loss itself
        assert allowed.get(name, {}) == rest, f"{name}: {allowed.get(name)}"


def test_what_elections_lost_is_printed_and_no_anomaly() -> None:
    totals = {"acknowledged": 9, "refused": 0, "unknown": 0, "sent": 9, "acknowledged_by_quorum": 5}
    totals |= {"longest_silence_ms": 0, "replica_records": 0, "replica_logs": 0, "polled": 0, "watermarks": 0}
    result = CheckResult("run", 1, {}, {"lost-to-election": 2, "duplicate": 3}, totals, [], {}, [], [])
    sentence = "2 of 5 records acknowledged with acks=min.insync.replicas were lost to elections, which level 1 allows"
    assert result.state == "ok"
    assert text(result).splitlines()[2:] == [
        "  duplicate: 3, allowed by the producer's settings or by Apache Kafka",
        f"  {sentence}",
    ]
    assert sentence in page([result])
    other = CheckResult("run", 1, {}, {}, totals | {"acknowledged_by_quorum": 0}, [], {}, [], [])
    assert "elections" not in text(other) and "were lost to" not in page([other])


def test_a_producer_whose_acks_are_not_recorded_counts_as_acks_all() -> None:
    notes = [event(0, "note", "producer", producer="old"), event(0, "note", "producer", producer="new", acks="-2")]
    assert producers(notes) == {"old": Settings(), "new": Settings(quorum=True)}
    assert producers(notes, level=2) == {"old": Settings(), "new": Settings(by_set=True)}


def test_at_level_2_a_loss_of_acks_min_insync_replicas_is_one_of_acks_all(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", [simulated(seed).named(f"seed-{seed}") for seed in range(CLEAN)])
    assert any("lost-to-election" in kinds for kinds in evaluated(path)[1].values()), "no election loses anything"
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    manifest["spec"]["cluster"] = {"features": {"rackspan.version": 2}}
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    found, allowed = evaluated(path)
    assert any("lost-write" in kinds for kinds in found.values())
    assert not any("lost-to-election" in kinds for kinds in allowed.values())


@pytest.mark.parametrize(("levels", "expected"), [([], 1), ([2], 2), ([2, 1], 1), ([0], 0)])
def test_the_level_in_the_metadata_log_counts_before_the_one_in_the_spec(
    tmp_path: Path, levels: list[int], expected: int
) -> None:
    history = read_history(folder(tmp_path / "run", [simulated(0).named("seed-0")]))
    notes = [event(0, "note", "partitions-read", node="ctrl-1", complete=True, level=level) for level in levels]
    assert replace(history, events=[*history.events, *notes]).level == expected


def test_clean_histories_raise_no_alarm(tmp_path: Path) -> None:
    parts = [simulated(seed).named(f"seed-{seed}") for seed in range(CLEAN)]
    results = {ack["result"] for part in parts for ack in part.acks}
    assert results == {"OK", "TIMEOUT", "NOT_ENOUGH_RACKS", ""}, "the made-up histories are too tame"
    found, allowed = evaluated(folder(tmp_path / "run", parts))
    assert found == {}
    kinds = {kind for topic in allowed.values() for kind in topic}
    assert {"lost-write", "duplicate"} <= kinds, "what acks=1 may lose and repeat was not even observed"
    assert "lost-to-election" in kinds, "no election lost what a quorum had acknowledged"
    assert "nonmonotonic-send" in kinds, "what a client gave up on came late in none of them"
    assert "watermark-went-back" in kinds, "no new leader reported what it knew as a follower"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The real cycle as a run folder."""
    return Path(shutil.copytree(REAL, tmp_path / "run"))


def test_a_real_cycle_is_evaluated_ok(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert write_check([run], tmp_path / "out") == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["verdict"] == "ok" and verdict["counts"] == {} and verdict["unread"] == []
    assert (
        verdict["totals"]["acknowledged"] == 1331
        and verdict["totals"]["refused"] == 22
        and verdict["totals"]["unknown"] == 7
    )
    assert verdict["totals"]["polled"] > 1300 and verdict["totals"]["watermarks"] > 100
    assert verdict["totals"]["replica_logs"] == 9 and verdict["totals"]["longest_silence_ms"] > 1000
    assert verdict["untried"] == [] and verdict["exposure"]["corrupt-value"] == 1331, "values are as the client writes"
    assert verdict["exposure"]["ack-under-racks"] == 3 and verdict["exposure"]["aborted-write"] == 22
    written = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))
    assert written["runs"][0]["anomalies"] == []
    assert "ok" in (tmp_path / "out" / "check.html").read_text(encoding="utf-8")


def test_a_lost_record_is_reported_with_its_full_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = real().named("orders")
    CORRUPTIONS["tail_cut"][1](part, random.Random(3))
    lost = max(a["offset"] for a in part.acks)
    assert main(["check", str(folder(tmp_path / "run", [part])), "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().err
    assert "lost-write" in printed and "at the end on no replica" in printed
    written = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))["runs"][0]
    story = next(a for a in written["anomalies"] if a["anomaly"] == "lost-write" and a["offset"] == lost)["history"]
    lines = [line["what"] for line in story]
    assert any("sent to orders-1" in line for line in lines)
    assert any(f"OK, offset {lost}" in line for line in lines)
    assert any("leader" in line and "in sync" in line for line in lines)
    assert any(" received " in line for line in lines)
    assert "lost-write" in (tmp_path / "out" / "check.html").read_text(encoding="utf-8")


def test_data_that_was_not_read_makes_the_verdict_unknown(run: Path, tmp_path: Path) -> None:
    events = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [e for e in events if json.loads(e)["name"] != "replica" or json.loads(e)["data"]["node"] != "b1"]
    (run / "events.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert main(["check", str(run), "--out", str(tmp_path / "out")]) == 3
    (verdict,) = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))["runs"]
    assert verdict["verdict"] == "unknown"
    assert verdict["unread"] == [f"cycle-2-{p}: 2 of 3 replicas read" for p in range(3)]
    (run / "events.jsonl").write_text("", encoding="utf-8")
    history = read_history(run)
    assert history.unread(frozenset(("cycle-2", p) for p in range(3))) == [
        "the metadata log: acknowledgements were not compared with the in-sync replicas",
        *(f"cycle-2-{p}: 0 of 3 replicas read" for p in range(3)),
    ]


def test_a_topic_that_was_created_again_is_no_anomaly_and_what_it_had_is_not_known(tmp_path: Path) -> None:
    part = real().named("orders")
    rows = sorted(part.partitions, key=lambda row: row["metadata_offset"])
    for row in rows:
        row["metadata_offset"] += 10
    earlier = rows[0] | {
        "metadata_offset": 1,
        "t_ns": rows[0]["t_ns"] - SECOND,
        "leader_epoch": 5,
        "partition_epoch": 7,
    }
    part.partitions = [earlier, *rows]
    found = check(read_history(folder(tmp_path / "before", [part])), InProcess())
    assert found.state == "ok", "nothing of the run was sent to it"

    offset = min(ack["offset"] for ack in part.acks if ack["result"] == "OK")
    sent = {"sent_ns": rows[0]["t_ns"] - MS, "done_ns": rows[0]["t_ns"] - 1, "seq": 1_000_000}
    part.acks.append(next(ack for ack in part.acks if ack["offset"] == offset) | sent)
    part.polls.append(part.polls[5] | {"number": max(poll["number"] for poll in part.polls) + 1, "seq": 1_000_000})
    found = check(read_history(folder(tmp_path / "between", [real().named("clean"), part])), InProcess())
    assert found.counts == {} and found.state == "unknown"
    assert "orders: deleted and created again, what became of 1 records could not be known" in found.unread


def test_a_partition_that_the_metadata_log_does_not_have_is_not_complete(tmp_path: Path) -> None:
    """One log of it was read, and nothing says how many there are."""
    part = real().named("orders")
    CORRUPTIONS["acknowledged_in_one_rack"][1](part, random.Random(1))
    part.partitions, part.read = [], part.read[:1]
    part.replicas = [row for row in part.replicas if row["node"] == part.read[0]["node"]]
    history = read_history(folder(tmp_path / "run", [real().named("clean"), part]))
    found = check(history, InProcess())
    assert found.counts == {} and found.state == "unknown"
    assert found.unread == ["orders-1: not in the metadata log"]
    assert history.facts().complete == {("clean", 1)}


@pytest.mark.parametrize(("name", "what"), [("polls", "records received"), ("watermarks", "high watermarks")])
def test_an_observer_that_ended_early_makes_the_verdict_unknown(tmp_path: Path, name: str, what: str) -> None:
    part = real().named("orders")
    rows = getattr(part, name)
    del rows[len(rows) // 3 :]
    found = check(read_history(folder(tmp_path / "run", [part])), InProcess())
    assert found.counts == {} and found.state == "unknown"
    (unread,) = found.unread
    assert unread.startswith(f"orders-1: the {what} end at offset ")


def test_an_error_of_the_observer_makes_the_verdict_unknown(tmp_path: Path) -> None:
    path = folder(tmp_path / "run", [real().named("orders")])
    failed = event(90 * SECOND, "note", "observer-failed", topic="orders", error="LookupError: no broker")
    with (path / "events.jsonl").open("a", encoding="utf-8") as events:
        events.write(json.dumps(failed) + "\n")
    found = check(read_history(path), InProcess())
    assert found.unread == ["orders: what the observer would have observed after LookupError: no broker"]


@pytest.mark.parametrize("files", ["cycle-2-2-*", "*"])
def test_missing_logs_make_the_verdict_unknown_and_are_no_anomaly(run: Path, tmp_path: Path, files: str) -> None:
    missing = list((run / "replicas").glob(f"{files}.parquet"))
    assert missing
    for file in missing:
        file.unlink()
    assert main(["check", str(run), "--out", str(tmp_path / "out")]) == 3
    (verdict,) = json.loads((tmp_path / "out" / "check.json").read_text(encoding="utf-8"))["runs"]
    assert verdict["counts"] == {} and verdict["verdict"] == "unknown"
    assert "cycle-2-2: 0 of 3 replicas read" in verdict["unread"]


def test_a_promise_that_nothing_tried_makes_the_verdict_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = real().named("orders")
    for row in part.partitions:
        row["isr_racks"] = 3
    assert main(["check", str(folder(tmp_path / "run", [part])), "--out", str(tmp_path / "out")]) == 3
    assert "  never tried: ack-under-racks\n" in capsys.readouterr().err
    assert "Never tried, so not known: ack-under-racks" in (tmp_path / "out" / "check.html").read_text(encoding="utf-8")
    for row in part.partitions:
        row["min_racks"] = 1
    assert main(["check", str(folder(tmp_path / "other", [part])), "--out", str(tmp_path / "out")]) == 0, "not promised"


def test_acknowledgements_too_soon_after_the_begin_of_a_stretch_are_counted(tmp_path: Path) -> None:
    part = real().named("orders")
    last = max(part.partitions, key=lambda row: row["metadata_offset"])
    sent = sorted(ack["sent_ns"] for ack in part.acks if ack["result"] == "OK" and ack["sent_ns"] > last["t_ns"])
    begin, end = sent[0], sent[0] + 2 * SECOND
    short = {"t_ns": begin, "metadata_offset": last["metadata_offset"] + 1, "isr": "1,2", "isr_racks": 1}
    part.partitions += [last | short, last | {"t_ns": end, "metadata_offset": last["metadata_offset"] + 2}]
    acks = [ack for ack in part.acks if ack["result"] == "OK"]
    soon = sum(ack["sent_ns"] > begin and ack["done_ns"] < end - CLOCK_NS for ack in acks)
    found = check(read_history(folder(tmp_path / "run", [part])), InProcess())
    assert soon > 10 and found.counts == {}
    assert soon <= found.tolerated["ack-under-racks"] == found.plain()["tolerated"]["ack-under-racks"] <= soon + 3
    number = found.tolerated["ack-under-racks"]
    assert f"  ack-under-racks: {number} acknowledgements not compared, too soon after the begin" in text(found)
    assert f'<td class="n">{number}</tr>' in page([found])


def test_acknowledgements_of_a_degrade_are_compared_with_the_ledger(tmp_path: Path) -> None:
    part = real().named("orders")
    CORRUPTIONS["acknowledged_below_the_promise_and_not_noted"][1](part, random.Random(1))
    (_, degrades), (_, ledger) = part.notes

    def found(name: str) -> CheckResult:
        return check(read_history(folder(tmp_path / name, [part])), InProcess())

    assert found("one-missing").counts["ack-not-in-ledger"] == 1
    for one in ledger["ranges"]:
        one["to"] = None
    complete = found("complete")
    assert "ack-not-in-ledger" not in complete.counts and complete.exposure["ack-not-in-ledger"] > 10
    part.notes = [("degrades", degrades)]
    without = found("without")
    assert "the ledger: acknowledgements in degrades were not compared with it" in without.unread
    assert without.counts["ack-not-in-ledger"] == without.exposure["ack-not-in-ledger"]
    degrades["degrades"][0]["promised"] = 1
    assert "ack-not-in-ledger" not in found("one-rack-was-promised").counts


def test_a_table_that_is_missing_or_cut_short_has_exit_code_4(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = next((run / "acks").glob("*.parquet"))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    assert main(["check", str(run), "--out", str(tmp_path / "out")]) == 4
    assert f"{file} is not a complete Parquet file" in capsys.readouterr().err
    file.write_bytes(content)
    shutil.rmtree(run / "polls")
    assert main(["check", str(run), "--out", str(tmp_path / "out")]) == 4
    assert "observed: no folder polls" in capsys.readouterr().err


def test_min_racks_replaces_the_span_that_topics_require(run: Path) -> None:
    history = read_history(run)
    assert check(history, InProcess()).counts == {}
    found = check(history, InProcess(), min_racks=3)
    assert found.counts.keys() == {"ack-under-racks"}
    assert {row["topic"] for row in found.anomalies} == {"cycle-2"}


def test_the_real_cycle_is_complete() -> None:
    assert all(any((REAL / name).glob("*.parquet")) for name in TABLES)
