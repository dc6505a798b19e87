"""Times of a test run as JSON: each stage, and the slowest tests, so that the next one to shorten is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.cli.test_stages import StageResult
from harness.common.atomic_files import write_aside

NAME = "times.json"
SLOWEST = 20


def write(folder: Path, results: Sequence[StageResult], setup_seconds: float, wall_seconds: float) -> Path:
    """Writes `times.json` into a results folder: the longest stage first, the slowest test first. `wall_seconds` are
    those after the set-up.
    """
    stages = [
        {
            "stage": r.name,
            "wall_seconds": round(r.wall_seconds, 1),
            "cpu_seconds": round(r.cpu_seconds, 1),
            **asdict(r.counts),
        }
        for r in sorted(results, key=lambda r: -r.wall_seconds)
    ]
    tests = sorted(((t.seconds, t.test, r.name) for r in results for t in r.tests), reverse=True)[:SLOWEST]
    data = {
        "setup_seconds": round(setup_seconds, 1),
        "wall_seconds": round(wall_seconds, 1),
        "cpu_seconds": round(sum(r.cpu_seconds for r in results), 1),
        "stages": stages,
        "slowest_tests": [{"test": t, "stage": s, "seconds": round(seconds, 1)} for seconds, t, s in tests],
    }
    file = folder / NAME
    write_aside(file, json.dumps(data, indent=2) + "\n")
    return file
