"""The outcome of each client as cells for the table, numbers, and violations. Pure: no cluster, no process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.ducktape_support.load_service import Acks
from harness.ducktape_support.steered_service import Row

# Beyond its own limit a client gets this long, in seconds: machines may stall.
GRACE_S = 150.0
OWN_RETRIES = "with its own retries"
MOVED = "planned move"
MOVED_LOST = f"{MOVED}: lost"


@dataclass
class ClientResult:
    """One client. `cells` are words that do not change from run to run, by column; no `violations`: all is well."""

    key: str
    title: str
    version: str = ""
    idempotent: bool = False
    skip_reason: str = ""
    cells: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def note(self, column: str, words: str, violations: Sequence[str], **numbers: Any) -> None:
        """One column of the table: `words` if there is no violation."""
        self.cells[column] = "**fails**" if violations else words
        self.violations += [f"{column}: {c}" for c in violations]
        self.numbers |= {f"{column}: {name}": value for name, value in numbers.items()}


@dataclass(frozen=True)
class Reported:
    """Answers that a producer received, and how its program ended ("" is well); `refused` counts refusals."""

    acks: Acks
    ended: str
    refused: int

    @property
    def errors(self) -> dict[str, int]:
        """Records by the error they ended with; with its cause where the library gives one."""
        bad = (r for r in self.acks.rows if r["result"] != "OK")
        return dict(Counter(error(r) for r in bad).most_common())

    def violations(self) -> list[str]:
        """Whatever a client must not do in any scene."""
        open_ = [r["seq"] for r in self.acks.rows if not r["result"]]
        found = [f"its program ended badly: {self.ended}"] if self.ended else []
        return found + ([f"{len(open_)} records without an answer, first {open_[:5]}"] if open_ else [])


def error(row: Row) -> str:
    """The error of a record in words."""
    return str(row["result"] or "no answer") + (f" ({row['cause']})" if row["cause"] else "")


def outage_that_ends(result: ClientResult, reported: Reported, read: Iterable[Row]) -> None:
    """Refused and retried, all acknowledged, no loss; no duplicates if the client is idempotent by default."""
    lost, twice, wrong = _kept(result, reported, read)
    if not reported.refused:
        wrong.append("it was never refused, so nothing was shown")
    words = "retried, no loss" + (", no duplicates" if result.idempotent else "")
    result.note(
        "outage that ends",
        words,
        wrong,
        sent=len(reported.acks),
        acknowledged=len(reported.acks.ok),
        refusals=reported.refused,
        lost=len(lost),
        twice=len(twice),
    )


def outage_that_stays(
    result: ClientResult, reported: Reported, read: Iterable[Row], begin_ns: int, limit_s: float, remedy: str = ""
) -> None:
    """From `begin_ns` (epoch) nothing can be acknowledged: the application learns of it soon after its limit.

    `remedy` is a setting that the client was given for this.
    """
    lost, _ = _compare(reported.acks, read)
    wrong = reported.violations()
    refused = reported.acks.due(begin_ns)
    if refused.ok:
        wrong.append(f"{len(refused.ok)} records were acknowledged without the rack")
    failed = [r for r in refused.rows if r["result"] not in ("", "OK")]
    seconds = max(((r["done_ns"] - r["sent_ns"]) / 1e9 for r in failed), default=0.0)
    if not failed:
        wrong.append("the application saw no error")
    elif seconds > limit_s + GRACE_S:
        wrong.append(f"the application saw the error after {seconds:.1f} s, its limit was {limit_s:.0f} s")
    elif seconds < limit_s / 2:
        wrong.append(f"no record was tried for longer than {seconds:.1f} of {limit_s:.0f} s: it does not retry")
    if lost:
        wrong.append(f"{len(lost)} acknowledged records are lost, first {lost[:5]}")
    result.note(
        "outage that stays",
        "retried, then an error in time" + (f", with `{remedy}`" if remedy else ""),
        wrong,
        errors=reported.errors,
        seconds=round(seconds, 1),
        refusals=reported.refused,
    )


def planned_move(result: ClientResult, reported: Reported, read: Iterable[Row]) -> None:
    """The leader moved: nothing acknowledged is lost, and no duplicates if the client is idempotent by default."""
    lost, twice, wrong = _kept(result, reported, read)
    result.note(MOVED, "no loss", wrong, acknowledged=len(reported.acks.ok), lost=len(lost), twice=len(twice))


def own_retries(result: ClientResult, reported: Reported, read: Iterable[Row], begin_ns: int, back_ns: int) -> None:
    """With the library's own number of retries records are given up between `begin_ns` and `back_ns` (epoch)."""
    lost, _ = _compare(reported.acks, read)
    wrong = reported.violations()
    failed = [r for r in reported.acks.due(begin_ns).rows if r["result"] not in ("", "OK") and r["done_ns"] < back_ns]
    if not failed:
        wrong.append("it gave no record up before the rack was back")
    if lost:
        wrong.append(f"{len(lost)} acknowledged records are lost, first {lost[:5]}")
    seconds = min(((r["done_ns"] - r["sent_ns"]) / 1e9 for r in failed), default=0.0)
    names = Counter(map(error, failed)).most_common(1)
    words = f"gives records up: `{names[0][0]}`" if names else ""
    result.note(OWN_RETRIES, words, wrong, given_up=len(failed), seconds=round(seconds, 1))


def mistaken_topic(result: ClientResult, reported: Reported, limit_s: float) -> None:
    """Nothing is acknowledged; final where records were not refused twice (but one, after a lost connection)."""
    wrong = reported.violations()
    if reported.acks.ok:
        wrong.append(f"{len(reported.acks.ok)} records were acknowledged")
    seconds = max(((r["done_ns"] - r["sent_ns"]) / 1e9 for r in reported.acks.rows if r["result"]), default=0.0)
    if seconds > limit_s + GRACE_S:
        wrong.append(f"the application saw the error after {seconds:.1f} s, its limit was {limit_s:.0f} s")
    if not reported.refused:
        wrong.append("it was never refused, so nothing was shown")
    final = reported.refused < 2 * len(reported.acks)
    names = ", ".join(f"`{name}`" for name in sorted(reported.errors))
    result.note(
        "topic that requires too much",
        names + (" at once" if final else ", retried until its limit"),
        wrong,
        seconds=round(seconds, 1),
        refusals=reported.refused,
    )


def reading(
    result: ClientResult, ended: str, metadata: Mapping[str, Any], rows: Iterable[Row], read: Iterable[Row],
    assignment: Sequence[Sequence[int]],
) -> None:  # fmt: skip
    """Metadata with our tagged fields is understood, and everything is read from the beginning."""
    wrong = [f"its program ended badly: {ended}"] if ended else []
    brokers = sorted({b for replicas in assignment for b in replicas})
    if sorted(metadata.get("brokers", [])) != brokers:
        wrong.append(f"it knows brokers {metadata.get('brokers')}, there are {brokers}")
    found = {p["partition"]: p for p in metadata.get("partitions", [])}
    if {p: list(found[p]["replicas"]) for p in found} != {p: list(r) for p, r in enumerate(assignment)}:
        wrong.append(f"it knows partitions {metadata.get('partitions')}, assigned are {assignment}")
    leaderless = [p for p in found if found[p]["leader"] not in found[p]["replicas"]]
    if leaderless:
        wrong.append(f"it knows no leader of partitions {leaderless}")
    result.note("metadata", "understood", wrong)
    wanted, observed = Counter(_place(r) for r in read), Counter(_place(r) for r in rows)
    missing, more = wanted - observed, observed - wanted
    wrong = [] if not missing else [f"{missing.total()} records not read, first {list(missing)[:3]}"]
    wrong += [] if not more else [f"{more.total()} records read that are not there, first {list(more)[:3]}"]
    result.note("reads", "everything", wrong, records=observed.total())


def without_mapping(result: ClientResult, reported: Reported, begin_ns: int) -> None:
    """The brokers send their own codes to everybody: what becomes of a write that the rack's absence refuses."""
    wrong = reported.violations()
    late = reported.acks.due(begin_ns)
    names = Counter(error(r) for r in late.rows if r["result"] != "OK")
    if names:
        wrong.append(f"the application saw {dict(names)}")
    result.note("without the mapping", "retried", wrong, errors=dict(names))
    if names:
        result.cells["without the mapping"] = f"gives records up: `{names.most_common(1)[0][0]}`"


def skipped(results: Iterable[ClientResult]) -> None:
    """Requires all clients: one that could not be run is a violation."""
    for result in results:
        if result.skip_reason:
            result.violations.append(f"not run: {result.skip_reason}")


def _kept(result: ClientResult, reported: Reported, read: Iterable[Row]) -> tuple[list[int], list[int], list[str]]:
    """The same two as `_compare`, and violations: an error, a loss, duplicates of a client idempotent by default."""
    lost, twice = _compare(reported.acks, read)
    wrong = reported.violations()
    if reported.errors:
        wrong.append(f"the application saw {reported.errors}")
    if lost:
        wrong.append(f"{len(lost)} acknowledged records are lost, first {lost[:5]}")
    if twice and result.idempotent:
        wrong.append(f"{len(twice)} records are there more than once, first {twice[:5]}")
    return lost, twice, wrong


def _compare(acks: Acks, read: Iterable[Row]) -> tuple[list[int], list[int]]:
    """Sequences of acknowledged records that are not in the log, and of records that are there more than once."""
    found = Counter(r["seq"] for r in read)
    lost = [r["seq"] for r in acks.ok if not found[r["seq"]]]
    return lost, sorted(seq for seq, times in found.items() if times > 1)


def _place(row: Row) -> tuple[int, int, str, int]:
    return row["partition"], row["offset"], row["producer"], row["seq"]
