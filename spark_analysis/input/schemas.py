"""Schemas of the run folder, from the contract file by which the harness writes it (data, not code)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_analysis.errors import ENVIRONMENT, AnalysisError
from spark_analysis.input import notes
from spark_analysis.locations import Location

CONTRACT = Path(__file__).parents[2] / "harness" / "run_folder" / "schema.json"
_JSON_TYPES: dict[str, type] = {"int": int, "string": str, "object": dict, "array": list}


@cache
def contract() -> dict[str, Any]:
    """The parsed contract."""
    data: dict[str, Any] = json.loads(CONTRACT.read_text(encoding="utf-8"))
    return data


def version() -> int:
    """Schema version that this program reads."""
    return int(contract()["version"])


def tables() -> list[str]:
    """Names of the Parquet tables."""
    return list(contract()["tables"])


def check_table(where: Location, name: str, observed: pa.Schema) -> None:
    """Raises AnalysisError when the columns or types differ from the contract."""
    want = {f["name"]: f["type"] for f in contract()["tables"][name]["fields"]}
    have = {f.name: str(f.type) for f in observed}
    if want == have:
        return
    missing = sorted(set(want) - set(have))
    unknown = sorted(set(have) - set(want))
    other = [f"{n} is {have[n]}, not {want[n]}" for n in want if n in have and have[n] != want[n]]
    raise AnalysisError(
        f"{name} of {where} does not fit schema version {version()}",
        observed=f"missing {missing}, unknown {unknown}, other types {other}",
        do="make the run again, or read it with the release that made it",
        code=ENVIRONMENT,
    )


def check_manifest(where: Location, manifest: Any) -> dict[str, Any]:
    """Returns the manifest, with what an older version lacks; raises AnalysisError on a version that is not known or a
    missing or odd value.
    """
    known = (version(), *map(int, contract()["older"]))
    if not isinstance(manifest, dict) or manifest.get("schema_version") not in known:
        observed = manifest.get("schema_version") if isinstance(manifest, dict) else manifest
        raise AnalysisError(
            f"{where} is of another schema version",
            observed=f"schema version {observed!r}, wanted {version()}",
            do="make the run again, or read it with the release that made it",
            code=ENVIRONMENT,
        )
    older: dict[str, Any] = contract()["older"].get(str(manifest["schema_version"]), {})
    manifest = {**older.get("manifest", {}), **manifest}
    wrong = [
        f"{f['name']}={manifest.get(f['name'])!r}"
        for f in contract()["manifest"]
        if not isinstance(manifest.get(f["name"]), _JSON_TYPES[f["type"]])
    ]
    wrong = wrong or [problem for problem in [notes.manifest_problems(manifest)] if problem]
    if wrong:
        raise AnalysisError(
            f"the manifest of {where} is not as the contract says",
            observed=", ".join(wrong),
            do="make the run again: its manifest was not written by this release",
            code=ENVIRONMENT,
        )
    return {**manifest}


def check_events(where: Location, rows: list[Any]) -> list[dict[str, Any]]:
    """Returns the events; raises AnalysisError naming the first one that is not as the contract says."""
    known = contract()["events"]
    names = {f["name"] for f in known["fields"]}
    for number, row in enumerate(rows, 1):
        wrong = "" if isinstance(row, dict) and set(row) == names else "other keys"
        wrong = wrong or notes.event_problems(row)
        if not wrong and (row["kind"] not in known["kinds"] or row["state"] not in known["states"]):
            wrong = "a kind or state that is not known"
        if wrong:
            raise AnalysisError(
                f"line {number} of the events in {where / contract()['layout']['events']} is not as the contract says",
                observed=f"{wrong}, in {json.dumps(row)}",
                do=f"give every event {', '.join(sorted(names))} with a known kind and state, and the data of its kind",
                code=ENVIRONMENT,
            )
    return rows
