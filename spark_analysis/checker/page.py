"""The verdict as plain text and as one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spark_analysis.checker.anomalies import KINDS
from spark_analysis.checker.check import CheckResult
from spark_analysis.html_templates import rendered

_TEMPLATE = Path(__file__).parent / "templates" / "check.html.j2"


def text(verdict: CheckResult) -> str:
    """A few lines: verdict, counts, and the first anomaly of each kind with its history."""
    totals = ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in verdict.totals.items())
    lines = [f"{verdict.run}: {verdict.state} (seed {verdict.seed})", f"  {totals}"]
    lines += [f"  {name}: {number}" for name, number in sorted(verdict.counts.items())]
    lines += [
        f"  {name}: {number}, allowed by the producer's settings or by Apache Kafka"
        for name, number in verdict.allowed.items()
        if name != "lost-to-election"
    ]
    lines += [f"  {verdict.lost_to_elections}"] if verdict.lost_to_elections else []
    lines += [f"  not checked: {what}" for what in verdict.unread]
    lines += [
        f"  {rule}: {number} acknowledgements not compared, too soon after the begin; {verdict.exposure[rule]} compared"
        for rule, number in verdict.tolerated.items()
    ]
    lines += [f"  never tried: {', '.join(verdict.untried)}"] if verdict.untried else []
    for found in _first(verdict.anomalies, 1):
        lines.append(f"  {found['anomaly']} {place(found)}: {found['detail']}")
        lines += [f"    {at(line['t_ns'])} {line['what']}" for line in found["history"]]
    return "\n".join(lines)


def page(verdicts: list[CheckResult], errors: Sequence[str] = ()) -> str:
    """One self-contained HTML page of all runs, and of the errors of those that could not be checked."""
    return rendered(_TEMPLATE, {"at": at, "place": place}, verdicts=verdicts, errors=errors, kinds=KINDS)


def at(t_ns: int | None) -> str:
    """A time of day with milliseconds, UTC; blanks for none."""
    if t_ns is None:
        return " " * 12
    return f"{datetime.fromtimestamp(t_ns / 1e9, UTC):%H:%M:%S.%f}"[:12]


def place(found: dict[str, Any]) -> str:
    """The record and its place."""
    record = "" if found["producer"] is None else f"{found['producer']} {found['seq']} "
    return f"{record}at {found['topic']}-{found['partition']} offset {found['offset']}"


def _first(anomalies: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The first few of each kind."""
    observed: Counter[str] = Counter()
    kept = []
    for found in anomalies:
        observed[found["anomaly"]] += 1
        if observed[found["anomaly"]] <= most:
            kept.append(found)
    return kept
