"""The comparison itself: classes in batches, both sides at once, trouble looked at class by class."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.progress import Progress
from harness.upstream.classes import JarClasses, Selection
from harness.upstream.junit import Outcome
from harness.upstream.sides import Side
from harness.upstream.verdict import Verdict, judge

_BATCH = 30


@dataclass(frozen=True)
class Batch:
    """Classes that share a JVM, and the seconds that they may take in all."""

    classes: tuple[str, ...]
    seconds: float


def batches(names: Sequence[str], jars: JarClasses, selection: Selection) -> list[Batch]:
    """Quick unit classes together, classes that start clusters one a JVM."""
    alone = [n for n in names if jars.starts_cluster(n)]
    rest = [n for n in names if n not in set(alone)]
    groups = [tuple(rest[i : i + _BATCH]) for i in range(0, len(rest), _BATCH)]
    return [Batch(g, max(selection.limit(n) for n in g) + 20 * len(g)) for g in [*groups, *((n,) for n in alone)]]


def verify(
    stock: Side, patched: Side, wanted: Sequence[Batch], selection: Selection, progress: Progress
) -> Iterator[Verdict]:
    """Runs what is not known yet, and yields the verdict of each class as its batch is done."""
    for number, batch in enumerate(wanted, 1):
        what = batch.classes[0] if len(batch.classes) == 1 else f"{len(batch.classes)} classes"
        missing = {s: [n for n in batch.classes if s.known(n) is None] for s in (stock, patched)}
        fresh: dict[tuple[str, str], Outcome] = {}
        if any(missing.values()):
            with progress.step(f"{number} of {len(wanted)}: {what}"):
                fresh = _run(missing, batch.seconds, selection)
        for name in batch.classes:
            sides = {s.name: s.known(name) or fresh[s.name, name] for s in (stock, patched)}
            yield _judge(name, sides, patched, selection, progress)


def _judge(name: str, sides: Mapping[str, Outcome], patched: Side, selection: Selection, progress: Progress) -> Verdict:
    first = judge(name, sides["stock"], sides["patched"], selection.differs)
    if not first.broken:
        return first
    with progress.step(f"{name} on patched once more: {len(first.broken)} test(s) failed"):
        again = _run({patched: [name]}, selection.limit(name), selection, keep=False)[patched.name, name]
    return judge(name, sides["stock"], sides["patched"], selection.differs, again)


def _run(
    wanted: Mapping[Side, list[str]], seconds: float, selection: Selection, *, keep: bool = True
) -> dict[tuple[str, str], Outcome]:
    """Outcomes by (side, class). A class of a batch that did not end well gets a JVM of its own."""
    found = _together(wanted, seconds)
    for side, names in wanted.items():
        for name in names:
            if len(names) > 1 and found[side.name, name].trouble:
                found.update(_together({side: [name]}, selection.limit(name)))
            if keep and not found[side.name, name].trouble:
                side.keep(name, found[side.name, name])
    return found


def _together(wanted: Mapping[Side, list[str]], seconds: float) -> dict[tuple[str, str], Outcome]:
    found: dict[tuple[str, str], Outcome] = {}
    with contextlib.ExitStack() as stack:
        runs = []
        for side, names in wanted.items():
            if names:
                run = side.run(names, "once" if len(names) == 1 else "batch")
                stack.callback(run.end)  # whatever happens here, no JVM stays
                runs.append((side, run))
        for side, run in runs:
            found.update({(side.name, name): outcome for name, outcome in run.outcomes(seconds).items()})
    return found
