"""What became of each client, as cells for the table, numbers, and complaints. Pure: no cluster, no process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.ducktape_support.load_service import Acks, Row

# Beyond its own limit a client gets this long, in seconds: machines may stall.
GRACE_S = 60.0


@dataclass
class Verdict:
    """One client. `cells` are words that do not change from run to run, by column; no `complaints`: all is well."""

    key: str
    title: str
    version: str = ""
    idempotent: bool = False
    hindrance: str = ""
    cells: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def note(self, column: str, words: str, complaints: Sequence[str], **numbers: Any) -> None:
        """One column of the table: `words` if there is no complaint."""
        self.cells[column] = "**fails**" if complaints else words
        self.complaints += [f"{column}: {c}" for c in complaints]
        self.numbers |= {f"{column}: {name}": value for name, value in numbers.items()}


@dataclass(frozen=True)
class Told:
    """What a producer was told, and how its program ended ("" is well); `refused` counts the broker's refusals."""

    acks: Acks
    ended: str
    refused: int

    @property
    def errors(self) -> dict[str, int]:
        """Records by the error they ended with; with its cause where the library gives one."""
        bad = (r for r in self.acks.rows if r["result"] != "OK")
        return dict(Counter(error(r) for r in bad).most_common())

    def complaints(self) -> list[str]:
        """Whatever a client must not do in any scene."""
        open_ = [r["seq"] for r in self.acks.rows if not r["result"]]
        found = [f"its program ended badly: {self.ended}"] if self.ended else []
        return found + ([f"{len(open_)} records without an answer, first {open_[:5]}"] if open_ else [])


def error(row: Row) -> str:
    """The error of a record in words."""
    return str(row["result"] or "no answer") + (f" ({row['cause']})" if row["cause"] else "")


def outage_that_ends(verdict: Verdict, told: Told, read: Iterable[Row]) -> None:
    """Refused and retried, all acknowledged, none lost; none twice if the client is idempotent by default."""
    lost, twice = _compare(told.acks, read)
    wrong = told.complaints()
    if told.errors:
        wrong.append(f"the application saw {told.errors}")
    if not told.refused:
        wrong.append("it was never refused, so nothing was shown")
    if lost:
        wrong.append(f"{len(lost)} acknowledged records are lost, first {lost[:5]}")
    if twice and verdict.idempotent:
        wrong.append(f"{len(twice)} records are there more than once, first {twice[:5]}")
    words = "retried, none lost" + (", none twice" if verdict.idempotent else "")
    verdict.note(
        "outage that ends",
        words,
        wrong,
        sent=len(told.acks),
        acknowledged=len(told.acks.ok),
        refusals=told.refused,
        lost=len(lost),
        twice=len(twice),
    )


def outage_that_stays(
    verdict: Verdict, told: Told, read: Iterable[Row], begin_ns: int, limit_s: float, remedy: str = ""
) -> None:
    """From `begin_ns` (epoch) nothing can be acknowledged: the application learns of it soon after its limit.

    `remedy` is a setting that the client was given for this.
    """
    lost, _ = _compare(told.acks, read)
    wrong = told.complaints()
    refused = told.acks.due(begin_ns)
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
    verdict.note(
        "outage that stays",
        "retried, then an error in time" + (f", with `{remedy}`" if remedy else ""),
        wrong,
        errors=told.errors,
        seconds=round(seconds, 1),
        refusals=told.refused,
    )


def mistaken_topic(verdict: Verdict, told: Told, limit_s: float) -> None:
    """Nothing is acknowledged; final where records were not refused twice (but one, after a lost connection)."""
    wrong = told.complaints()
    if told.acks.ok:
        wrong.append(f"{len(told.acks.ok)} records were acknowledged")
    seconds = max(((r["done_ns"] - r["sent_ns"]) / 1e9 for r in told.acks.rows if r["result"]), default=0.0)
    if seconds > limit_s + GRACE_S:
        wrong.append(f"the application saw the error after {seconds:.1f} s, its limit was {limit_s:.0f} s")
    if not told.refused:
        wrong.append("it was never refused, so nothing was shown")
    final = told.refused < 2 * len(told.acks)
    names = ", ".join(f"`{name}`" for name in sorted(told.errors))
    verdict.note(
        "topic that asks for too much",
        names + (" at once" if final else ", retried until its limit"),
        wrong,
        seconds=round(seconds, 1),
        refusals=told.refused,
    )


def reading(
    verdict: Verdict, ended: str, metadata: Mapping[str, Any], rows: Iterable[Row], read: Iterable[Row],
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
    verdict.note("metadata", "understood", wrong)
    wanted, seen = Counter(_place(r) for r in read), Counter(_place(r) for r in rows)
    missing, more = wanted - seen, seen - wanted
    wrong = [] if not missing else [f"{missing.total()} records not read, first {list(missing)[:3]}"]
    wrong += [] if not more else [f"{more.total()} records read that are not there, first {list(more)[:3]}"]
    verdict.note("reads", "everything", wrong, records=seen.total())


def without_mapping(verdict: Verdict, told: Told, begin_ns: int) -> None:
    """The brokers send their own codes to everybody: what becomes of a write that the rack's absence refuses."""
    wrong = told.complaints()
    late = told.acks.due(begin_ns)
    names = Counter(error(r) for r in late.rows if r["result"] != "OK")
    if names:
        wrong.append(f"the application saw {dict(names)}")
    verdict.note("without the mapping", "retried", wrong, errors=dict(names))
    if names:
        verdict.cells["without the mapping"] = f"gives records up: `{names.most_common(1)[0][0]}`"


def left_out(verdicts: Iterable[Verdict]) -> None:
    """Where all clients must be there: one that could not be run is a complaint."""
    for verdict in verdicts:
        if verdict.hindrance:
            verdict.complaints.append(f"not run: {verdict.hindrance}")


def _compare(acks: Acks, read: Iterable[Row]) -> tuple[list[int], list[int]]:
    """Sequences of acknowledged records that are not in the log, and of records that are there more than once."""
    found = Counter(r["seq"] for r in read)
    lost = [r["seq"] for r in acks.ok if not found[r["seq"]]]
    return lost, sorted(seq for seq, times in found.items() if times > 1)


def _place(row: Row) -> tuple[int, int, str, int]:
    return row["partition"], row["offset"], row["producer"], row["seq"]
