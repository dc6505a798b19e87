"""The verdict on one run, with the full history of each anomaly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spark_analysis.checker.anomalies import NAMES
from spark_analysis.checker.exposure import RULES, promised, untried
from spark_analysis.checker.facts import BUCKET_BITS, producers
from spark_analysis.checker.history import History
from spark_analysis.checker.one_pass import evaluate
from spark_analysis.checker.record_history import with_histories
from spark_analysis.checker.runner import Runner

OK, ANOMALIES, UNKNOWN = "ok", "anomalies", "unknown"


@dataclass(frozen=True)
class CheckResult:
    """The result of the checker for one run.

    `counts` are anomalies by kind, `allowed` those that a client's settings permit; `unread` names data that was not
    read back, `exposure` how much each rule could evaluate, `tolerated` the acknowledgements that a rule skipped at
    the begin of a stretch, when their leader may not have heard of it, and `untried` the rules that could evaluate
    nothing: with one of these and no anomaly the verdict is unknown.
    """

    run: str
    seed: int
    counts: dict[str, int]
    allowed: dict[str, int]
    totals: dict[str, int]
    unread: list[str]
    exposure: dict[str, int]
    untried: list[str]
    anomalies: list[dict[str, Any]]
    tolerated: dict[str, int] = field(default_factory=dict)

    @property
    def lost_to_elections(self) -> str:
        """The sentence on records acknowledged with acks=min.insync.replicas; empty where there were none."""
        if not self.totals["acknowledged_by_quorum"]:
            return ""
        lost = f"{self.allowed.get('lost-to-election', 0)} of {self.totals['acknowledged_by_quorum']} records"
        return f"{lost} acknowledged with acks=min.insync.replicas were lost to elections, which level 1 allows"

    @property
    def state(self) -> str:
        """ok, anomalies or unknown."""
        return ANOMALIES if self.counts else UNKNOWN if self.unread or self.untried else OK

    def plain(self) -> dict[str, Any]:
        """The verdict as JSON holds it."""
        return {"verdict": self.state, **vars(self)}


def check(history: History, runner: Runner, min_racks: int | None = None, bits: int = BUCKET_BITS) -> CheckResult:
    """Checks one run. `min_racks` takes the place of the topics' own min.insync.racks."""
    done = evaluate(history, runner, min_racks, bits)
    rules = promised(producers(history.events, history.level).values(), history.requires(min_racks))
    shown = [found for name in NAMES for found in done.found.shown.get(name, ())]
    return CheckResult(
        history.id,
        int(history.manifest["seed"]),
        done.found.by_kind(allowed=False),
        done.found.by_kind(allowed=True),
        done.totals,
        history.unread(done.places, done.observed),
        {rule: done.found.exposure[rule] for rule in RULES},
        untried(done.found.exposure, rules),
        with_histories(history, shown),
        {rule: number for rule, number in sorted(done.found.tolerated.items()) if number},
    )
