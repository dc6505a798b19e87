"""The document: everything that report.json holds and the page shows, from the raw data of runs; without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from spark_analysis.errors import AnalysisError
from spark_analysis.input import schemas
from spark_analysis.report import first_screen, outage, outage_raw, words
from spark_analysis.report.benchmark import page_section
from spark_analysis.report.benchmark import raw as bench_raw
from spark_analysis.report.benchmark.headline import headline, promises
from spark_analysis.report.benchmark.raw import BENCH, Raw
from spark_analysis.report.benchmark.trials import over_trials
from spark_analysis.report.benchmark.warnings import bench_warnings
from spark_analysis.report.outage_raw import OutageRaw
from spark_analysis.report.section import Section

_SHOWN = ("run_id", "name", "kind", "state", "failure", "seed", "spec", "versions", "patches", "host")
# What of a run's manifest the page needs.
MANIFEST = (*_SHOWN, "schema_version", "started_ns", "plan")


def build(
    parts: list[dict[str, Any]], skipped: list[AnalysisError], work: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The document of the parts of runs; ``work`` names the runs that were computed and those that were reused."""
    work = work or {"computed": [part["run_id"] for part in parts], "reused": [], "acks_read": 0}
    return assembled(parts, made(skipped, work))


def made(skipped: list[AnalysisError], work: dict[str, Any]) -> dict[str, Any]:
    """The entries of a document about how it was made."""
    return {
        "schema_version": schemas.version(),
        "made_at": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        "spark": version("pyspark"),
        "skipped": [{"what": e.what, "observed": e.observed, "do": e.do, "code": e.code} for e in skipped],
        "work": work,
    }


def assembled(parts: list[dict[str, Any]], made: Mapping[str, Any]) -> dict[str, Any]:
    """The document of the parts of runs, and of what `made` says."""
    return {
        **{name: made[name] for name in ("schema_version", "made_at", "spark")},
        "verdict": first_screen.verdict(parts, len(made["skipped"])),
        "headline": headline(parts),
        "promises": promises(parts),
        "modes": first_screen.modes(parts),
        "ratios": first_screen.ratios(parts),
        "warnings": [w for part in parts for w in part["warnings"]],
        **{name: made[name] for name in ("skipped", "work")},
        "trials": over_trials(parts),
        "runs": parts,
    }


def of_files(facts: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> Raw | OutageRaw:
    """The raw data of a run from what files keep of it."""
    if facts["page"] == BENCH:
        return bench_raw.of_files(facts, tables)
    return outage_raw.of_files(facts, tables)


def part(raw: Raw | OutageRaw) -> Section:
    """One run's part of the document, and the tables behind it."""
    found: dict[str, Any] = {name: raw.manifest[name] for name in _SHOWN}
    found["started"] = f"{datetime.fromtimestamp(raw.manifest['started_ns'] / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    found["producers"] = [
        {name: e["data"][name] for name in _producer_fields() if name in e["data"]}
        for e in raw.events
        if (e["kind"], e["name"]) == ("note", "producer")
    ]
    found["outage"], found["bench"] = None, None
    found["warnings"] = _warnings(raw)
    if isinstance(raw, Raw):
        measured = page_section.section(raw)
        found["bench"] = measured.data
        found["findings"] = words.bench_findings(measured.data)
        found["warnings"] += bench_warnings(raw.id, measured.data)
        return Section(found, measured.tables)
    timed = outage.section(raw)
    found["outage"] = timed.data
    found["findings"] = words.outage_findings(timed.data)
    return Section(found, timed.tables)


def _producer_fields() -> list[str]:
    known = schemas.contract()["events"]["known"]
    return list(next(e["data"] for e in known if (e["kind"], e["name"]) == ("note", "producer")))


def _warnings(raw: Raw | OutageRaw) -> list[str]:
    state = raw.manifest["state"]
    if state == "running":
        return [f"{raw.id} was never finished: its numbers end where it was cut short."]
    if state == "failed":
        return [f"{raw.id} failed: {raw.manifest['failure']}"]
    return []
