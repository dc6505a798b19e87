"""Damaged events and manifests are refused once, where they are read, whatever the damage is."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_analysis.checker.check import check
from spark_analysis.checker.history import read_history, require_replicas
from spark_analysis.checker.runner import InProcess
from spark_analysis.errors import ENVIRONMENT, UNKNOWN, AnalysisError
from spark_analysis.tests.copies import REAL
from spark_analysis.tests.generated import event

_DAMAGE: tuple[Any, ...] = (None, "x", -1, 1e30, [], {})
_DROPPED = "dropped"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The real cycle as a run folder."""
    return Path(shutil.copytree(REAL, tmp_path / "run"))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all values inside this one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from _places(one, (*path, key))


def _damaged(value: Any, rng: random.Random) -> Any:
    """A copy in which one value is another, or missing."""
    *path, last = rng.choice(list(_places(value)))
    at = made = copy.deepcopy(value)
    for key in path:
        at = at[key]
    damage = rng.choice((*_DAMAGE, _DROPPED))
    if damage == _DROPPED:
        del at[last]
    else:
        at[last] = damage
    return made


def _refused(run: Path) -> AnalysisError | None:
    try:
        history = read_history(run)
        require_replicas(history)
        check(history, InProcess())
    except AnalysisError as e:
        return e
    return None


def test_whatever_is_damaged_in_an_event_or_the_manifest_is_an_error_in_three_parts(run: Path) -> None:
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    manifest, rng = json.loads((run / "manifest.json").read_text(encoding="utf-8")), random.Random(0)
    refused = []
    for number in range(200):
        at = number % len(lines)
        spoilt = [*lines[:at], json.dumps(_damaged(json.loads(lines[at]), rng)), *lines[at + 1 :]]
        (run / "events.jsonl").write_text("\n".join(spoilt) + "\n", encoding="utf-8")
        refused.append(_refused(run))
    (run / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for _ in range(100):
        (run / "manifest.json").write_text(json.dumps(_damaged(manifest, rng)), encoding="utf-8")
        refused.append(_refused(run))
    errors = [error for error in refused if error is not None]
    assert len(errors) > 100 and {error.code for error in errors} <= {ENVIRONMENT, UNKNOWN}


@pytest.mark.parametrize(
    ("name", "data", "observed"),
    [
        ("replica", {"partition": 0, "node": "a1", "end_offset": 1}, "data.topic: Field required"),
        ("replica", {"topic": "t", "partition": 0, "node": "a1", "end_offset": "x"}, "data.end_offset: "),
        ("producer", {"producer": "p", "size": []}, "data.size: "),
        ("producer", {"producer": "p", "anchor_mono_ns": 1, "anchor_epoch_ns": 1}, "data.mono_ns: Field required"),
        ("partitions-read", {"level": None}, "data.level: "),
        ("read-back", {"topic": "t", "complete": True, "end_offsets": {"x": 1}}, "data.end_offsets.x.[key]: "),
        ("degrades", {"degrades": [{"topic": "t"}]}, "data.degrades.0.promised: "),
        ("ledger", {"ranges": [{"topic": "t", "partition": 0, "to": None}]}, "data.ranges.0.from: "),
        ("transactions", {"transactions": {}}, "data.transactions: "),
    ],
)
def test_a_note_without_what_the_analysis_reads_is_named_with_its_line(
    run: Path, name: str, data: dict[str, Any], observed: str
) -> None:
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-1])
    lines.append(json.dumps(event(0, "note", name, **data) | {"t_ns": last["t_ns"], "mono_ns": last["mono_ns"]}))
    (run / "events.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    error = _refused(run)
    assert error is not None and error.code == ENVIRONMENT and error.observed.startswith(observed)
    assert error.what.startswith(f"line {len(lines)} of the events in {run / 'events.jsonl'} ")
