"""Runs of the same benchmark that a folder of runs holds already: a new one says that it is not the first."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.run_folder.run_folder import schema_file


def earlier_runs(runs: Path, name: str, campaign: str) -> list[dict[str, Any]]:
    """run, state and planned rounds (null: not recorded) of each, in the order of their names. Trials of the same
    campaign are planned together: they are not among them. A folder without a manifest is no run.
    """
    found = []
    for file in sorted(runs.glob(f"*/{schema_file()['layout']['manifest']}")):
        with suppress(OSError, ValueError, AttributeError):
            manifest = json.loads(file.read_text(encoding="utf-8"))
            if (manifest.get("kind"), manifest.get("name")) != ("bench", name):
                continue
            spec = manifest.get("spec") or {}
            if campaign and (spec.get("campaign") or {}).get("id") == campaign:
                continue
            blocks = (spec.get("workload") or {}).get("blocks") or {}
            rounds = (manifest.get("plan") or {}).get("rounds", blocks.get("rounds"))
            found.append(
                {"run": manifest.get("run_id", file.parent.name), "state": manifest.get("state"), "rounds": rounds}
            )
    return found
