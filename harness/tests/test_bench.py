"""The benchmark as a user runs it: a small workload on a real cluster, through to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from harness.cli import report
from harness.cli.app import app
from harness.cli.report import Analysis
from harness.common.errors import Exit, RackspanError
from harness.run_folder import run_folder
from harness.tests.commands import rackspan

SMALL: dict[str, Any] = {
    "name": "small",
    "cluster": {
        "racks": {"a": 1, "b": 1, "c": 1},
        "controllers": 1,
        "profile": "kafka-defaults",
        "metrics": False,
        "settings": {"broker.session.timeout.ms": 60000},
    },
    "topic": {"leaders": ["a"], "settings": {"min.insync.replicas": 2, "min.insync.racks": 2}},
    "load": {"rate": 100},
    "modes": [
        {"name": "minisr", "role": "candidate", "acks": "min.insync.replicas"},
        {"name": "all", "role": "baseline", "acks": "all"},
    ],
    "blocks": {"rounds": 2, "seconds": 2, "settle": 0.5, "warmup": 3},
    "fault": {"how": "pause", "target": "c1", "seconds": 3, "recover": 0.5},
    "oracle": True,
    "limits": {"send_lag_p99_ms": 60000, "cpu_busy": 1, "steal": 1},
}
# The last rate is beyond any capacity, by producers that wait for room in their buffer: no record is refused.
COUNTED = {
    "name": "counted",
    "fault": None,
    "oracle": False,
    "record": "histogram",
    "blocks": {"rounds": 1, "seconds": 2, "settle": 0.5, "warmup": 1},
    "consume": True,
    "stalls": {"nodes": ["b1", "c1"], "seconds": 0.2, "every": 0.3},
    "load": {"rate": 100, "connections": 2, "unanswered_kib": 512},
    "ramp": {"rates": [100, 300, 10_000_000], "answered": 0.1, "times": 1e6},
}


@pytest.mark.cluster
@pytest.mark.variant
def test_a_small_run_ends_in_a_report_without_verdicts(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    file = tmp_path / "both.yaml"
    nowhere = [{**mode, "distribution": "/nowhere"} for mode in SMALL["modes"]]
    changes: list[dict[str, Any]] = [{"modes": nowhere}, {}, COUNTED]
    parts = [{"workload": "small.yaml", "change": change} for change in changes]
    file.write_text(yaml.safe_dump({"name": "both", "parts": parts}))
    done = rackspan("bench", str(file), "--seed", "3", "--out", str(tmp_path / "out"), home=home, seconds=500)
    assert done.returncode == 1, done.stderr
    assert "not measured: small: " in done.stderr and "/nowhere" in done.stderr, "a part that fails stops no other one"
    assert done.stdout.strip() == str(tmp_path / "out/report.html")
    assert "not enough runs" in done.stderr and "meets the goal" not in done.stderr
    run, counted = json.loads((tmp_path / "out/report.json").read_text())["runs"]
    page = (tmp_path / "out/report.html").read_text()
    assert run["seed"] == 3 and "rackspan acks=min.insync.replicas" in page and page.count("<svg") >= 2

    bench = run["bench"]
    blocks = _complete(bench)
    of_round = {n: [b["part"] for b in blocks if b["pair"] == n] for n in {b["pair"] for b in blocks}}
    plan = run_folder.read_manifest(Path("runs") / run["run_id"])["plan"]
    for number, observed in of_round.items():
        first = ["fault", "quiet"] if number in plan["fault_first"] else ["quiet", "fault"]
        assert observed == first * 2, "every second round has its fault first"
    assert (plan["rounds"], plan["seed"], plan["fault_first"][0]) == (2, 3, 0) and len(plan["order"]) >= 2
    assert run["bench"]["plan"]["planned"] == 2 and 0 < blocks[0]["cpu_own"] <= blocks[0]["cpu_busy"] + 0.05
    roles = [b["role"] for b in bench["blocks"] if b["part"] == "quiet"]
    assert sorted(roles[:2]) == ["baseline", "candidate"] and roles[2:4] == roles[:2][::-1]
    assert {row["outcome"] for row in bench["outcomes"]} == {"OK"}, "the paused follower must not cost a record"
    assert all(b["isr"] == 3 for b in blocks if b["part"] == "fault")
    silent = [p["silence_s"] for p in bench["fault"]["parts"] if (p["role"], p["part"]) == ("baseline", "fault")]
    assert len(silent) >= 2 and min(silent) > 1, "acks=all waits for the paused follower"
    ideal = {m["role"]: m for m in bench["oracle"]["modes"]}
    for mode in ideal.values():
        assert mode["matched"] == mode["records"] > 200, "the logs of the brokers have every record"
        assert mode["early"] == 0, "a fetch is stamped before what it answers"
    manifest = run_folder.read_manifest(Path("runs") / run["run_id"])
    assert manifest["state"] == "finished"
    place = manifest["spec"]["campaign"]
    assert (place["name"], place["part"], place["parts"]) == ("both", 2, 3) and place["id"].endswith("Z-both")
    _counted(counted)
    _into_a_document(tmp_path, run["run_id"], monkeypatch)


def _into_a_document(folder: Path, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables replace the text between the two lines; the rest of the document stays. The page is there already."""
    document = folder / "page.md"
    document.write_text("# Title\n\n<!-- report -->\nstale\n<!-- end -->\n\nlast\n")
    monkeypatch.setattr(report, "analyse", lambda *others: Analysis(folder / "out" / report.PAGE))
    command = ["report", f"runs/{run}", "--into", str(document)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    written = document.read_text()
    first = "- **? Whether records were lost was not checked: none were read back.**\n- **bench-small:"
    assert written.startswith(f"# Title\n\n<!-- report -->\n{first}") and f"\n### {run}\n" in written
    assert written.endswith("\n<!-- end -->\n\nlast\n")
    assert "acks=min.insync.replicas | " in written and "seed 3, rackspan-kafka" in written and "stale" not in written
    counts, again = report.counts_of(document), folder / "again"
    done = CliRunner().invoke(app, ["report", "--from-counts", str(counts), "--out", str(again)])
    assert done.exit_code == 0, done.output
    assert (again / "report.md").read_text() == (folder / "out/report.md").read_text()
    document.write_text(f"{written}<!-- report -->\n")
    error = CliRunner().invoke(app, command).exception
    assert isinstance(error, RackspanError) and error.code == Exit.USAGE
    assert document.read_text() == f"{written}<!-- report -->\n"
    assert f"{document} has no place for a report\n  observed: 2 times <!-- report -->" in str(error)
    assert "do:       write one line <!-- report --> into it, and one line <!-- end --> below" in str(error)


def _complete(bench: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of the rounds that count: a round that a busy machine spoiled is repeated."""
    spoiled = {b["pair"] for b in bench["invalid"]}
    found = [b for b in bench["blocks"] if b["pair"] not in spoiled]
    assert found, bench["invalid"]
    return found


def _counted(run: dict[str, Any]) -> None:
    """Histograms stand in for records: none of these is kept, and the report lacks nothing."""
    folder = Path("runs") / run["run_id"]
    assert not list((folder / "acks").iterdir()) and len(list((folder / "histograms").iterdir())) == 2
    bench = run["bench"]
    rates = ["rate-100", "rate-300", "rate-10000000"]
    blocks = _complete(bench)
    assert [b["part"] for b in blocks] == rates * 2
    assert {row["outcome"] for row in bench["outcomes"]} == {"OK"}, "a send waits for room for as long as it takes"
    sent = {(b["block"], b["part"]): b["records"] for b in blocks}
    assert min(sent.values()) > 0, f"how many depends on the machine: {sent}"
    ends = [e["data"] for e in run_folder.read_events(folder) if e["name"] == "block" and e["state"] == "end"]
    steps = [s for s in ends if s["block"] in {b["block"] for b in blocks}]
    for rate in rates:
        due = [s["stall_due_s"]["b1"] for s in ends if s["part"] == rate]
        assert all(a == b for a, b in zip(due[0], due[1], strict=False)), "both modes of a round meet the same stalls"
        assert due[0]
    assert all(s["stalls"] > 0 and s["stall_s"] >= 0.2 and s["acked_per_s"] > 0 for s in steps)
    assert [s["beyond"] == "" for s in steps] == [True, True, False] * 2
    assert {(c["role"], c["knee_rate"]) for c in bench["knee"]["capacity"]} == {("candidate", 300), ("baseline", 300)}
    assert all(c["ended"] == 1 or bench["invalid"] for c in bench["knee"]["capacity"])
    assert all(c["per_s"] > 100 for c in bench["knee"]["capacity"])


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["quite"], 2, "workload 'quite' not found"),
        (["unequal-racks", "--backend", "local"], 4, "local has none\n  do:       run it with --backend netns"),
        (["quiet", "--backend", "lokal"], 2, "no backend 'lokal'; did you mean 'local'?"),
        (["quiet", "--rounds", "0"], 2, "greater than or equal to 1"),
    ],
)
def test_an_impossible_benchmark_is_refused_before_a_cluster_starts(
    tmp_path: Path, arguments: list[str], code: int, error: str
) -> None:
    done = rackspan("bench", *arguments, home=tmp_path)
    assert done.returncode == code and error in done.stderr
    assert not (tmp_path / "clusters").exists()
