"""Run folders of an older schema version give the report of the present one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from spark_analysis.input import schemas
from spark_analysis.input.folders import read_folder
from spark_analysis.report import document
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated import event
from spark_analysis.tests.generated_bench import bench_run

OLDER = 2
LINKS = [{"racks": ["a", "b"], "requested_ms": 2.0, "p50_ms": 2.01, "samples": 200}]
# Faults whose names changed, around a bench whose parts have them too.
FAULTS = [
    event(0, "fault", "disconnected b1", "begin", nodes=["b1"]),
    event(1000, "fault", "disconnected b1", "end", nodes=["b1"]),
    event(2000, "fault", "bandwidth_limited c1", "begin", nodes=["c1"]),
    event(3000, "fault", "bandwidth_limited c1", "end", nodes=["c1"]),
    event(4000, "fault", "nodes_down", "begin", nodes=["a1"], requested=["leader:t-0"]),
    event(5000, "fault", "nodes_down", "end", nodes=["a1"], requested=["leader:t-0"]),
]


def present(path: Path) -> Path:
    """A full benchmark folder: blocks, two of them invalid, links, and faults of every name that changed."""
    invalid = {(0, "candidate"): ["no follower was stalled"], (9, "baseline"): None}
    fault = {"how": "pause", "target": "rack:c", "recover": 1.0}
    bench_run(path, rounds=3, per_block=100, fault=fault, rtt_ms={"b": 2.0, "c": 20.0}, invalid=invalid)
    events = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    _write_events(path, [event(0, "note", "links", links=LINKS), *FAULTS, *events])
    return path


def older(path: Path, to: Path) -> Path:
    """The same folder as the harness wrote it at version 2."""
    shutil.copytree(path, to)
    names = schemas.contract()["older"][str(OLDER)]
    keys = {new: old for old, new in names["keys"].items()}
    first = {new: old for old, new in names["names"].items()}
    rows = [json.loads(line) for line in (to / "events.jsonl").read_text().splitlines()]
    for row in rows:
        word, space, rest = row["name"].partition(" ")
        row["name"] = first.get(word, word) + space + rest
        row["data"] = _renamed(row["data"], keys)
    _write_events(to, rows)
    manifest = json.loads((to / "manifest.json").read_text())
    (to / "manifest.json").write_text(json.dumps({**manifest, "schema_version": OLDER}))
    return to


def _renamed(value: Any, keys: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {keys.get(key, key): _renamed(inner, keys) for key, inner in value.items()}
    return [_renamed(inner, keys) for inner in value] if isinstance(value, list) else value


def _write_events(path: Path, rows: list[dict[str, Any]]) -> None:
    (path / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_benchmark_of_version_2_gives_the_report_of_the_present_version(tmp_path: Path) -> None:
    new = present(tmp_path / "new" / "run")
    old = older(new, tmp_path / "old" / "run")
    text = (old / "events.jsonl").read_text()
    changed = schemas.contract()["older"][str(OLDER)]
    for before, now in (changed["keys"] | changed["names"]).items():
        assert f'"{before}' in text and f'"{now}' not in text, before
    assert read_folder(old).events == read_folder(new).events
    parts = [plain_counts.part(path) for path in (new, old)]
    assert [b["invalid"] for b in parts[0]["bench"]["invalid"]] == [
        ["no follower was stalled"],
        ["the run does not say whether the machine was fit for it"],
    ]
    assert parts[1] == parts[0]
    built = [{**document.build([part], []), "made_at": ""} for part in parts]
    assert built[1] == built[0]
