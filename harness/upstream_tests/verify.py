"""The comparison itself: classes in batches, both variants at once, failure looked at class by class."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from itertools import count

from harness.common.progress import Progress
from harness.common.task_group import TaskGroup
from harness.upstream_tests.classes import JarClasses, Selection
from harness.upstream_tests.comparison import ClassComparison, evaluate
from harness.upstream_tests.junit import FAILED, ClassResult, JvmRun
from harness.upstream_tests.variants import Variant

_BATCH = 30


@dataclass(frozen=True)
class ClassBatch:
    """Classes that share a JVM, and the seconds that they may take in all."""

    classes: tuple[str, ...]
    seconds: float


def batches(names: Sequence[str], jars: JarClasses, selection: Selection) -> list[ClassBatch]:
    """Quick unit classes together, slow classes and those that start clusters one a JVM."""
    alone = [n for n in names if jars.starts_cluster(n) or selection.own_limit(n)]
    rest = [n for n in names if n not in set(alone)]
    groups = [tuple(rest[i : i + _BATCH]) for i in range(0, len(rest), _BATCH)]
    return [ClassBatch(g, max(selection.limit(n) for n in g) + 20 * len(g)) for g in [*groups, *((n,) for n in alone)]]


def verify(
    stock: Variant,
    patched: Variant,
    wanted: Sequence[ClassBatch],
    selection: Selection,
    progress: Progress,
    jobs: int = 1,
) -> Generator[list[ClassComparison]]:
    """Runs what is not known yet, `jobs` batches at a time, and yields each batch's comparisons as it is done; last
    those of classes that did not go well and had a second attempt, with nothing beside it.

    However it ends, no JVM stays.
    """
    work = _Work(stock, patched, selection, progress)
    with work.running.threads(jobs) as pool:
        reported = (f"{number} of {len(wanted)}" for number in count(1))
        doubtful = []
        for done in as_completed([pool.submit(work.evaluate, batch, next(reported)) for batch in wanted]):
            comparisons = done.result()
            doubtful += [c for c in comparisons if c.doubtful]
            yield [c for c in comparisons if not c.doubtful]
        for comparison in doubtful:
            yield [pool.submit(work.again, comparison).result()]


class _Work:
    """One comparison and its JVMs. Its batches may be worked on in several threads."""

    def __init__(self, stock: Variant, patched: Variant, selection: Selection, progress: Progress) -> None:
        self._stock, self._patched = stock, patched
        self._selection, self._progress = selection, progress
        self.running = TaskGroup(JvmRun.end)
        self._numbers = count(1)

    def evaluate(self, batch: ClassBatch, number: str) -> list[ClassComparison]:
        """Comparisons of the batch's classes."""
        what = batch.classes[0] if len(batch.classes) == 1 else f"{len(batch.classes)} classes"
        variants = (self._stock, self._patched)
        missing = {s: [n for n in batch.classes if s.known(n) is None] for s in variants}
        fresh: dict[tuple[str, str], ClassResult] = {}
        if any(missing.values()):
            with self._progress.step(f"{number}: {what}"):
                fresh = self._run(missing, batch.seconds)
        found = {n: {s: s.known(n) or fresh[s.name, n] for s in variants} for n in batch.classes}
        return [self._evaluated(n, found[n], self._patched.known(n, again=True)) for n in batch.classes]

    def again(self, first: ClassComparison) -> ClassComparison:
        """The comparison after a second attempt: of a variant that did not end well, else of the patched one."""
        found = {self._stock: first.stock, self._patched: first.patched}
        endless = [variant for variant, outcome in found.items() if outcome.failure]
        if endless:
            why = f"no end on {' and '.join(variant.name for variant in endless)}"
            return self._evaluated(first.name, found | self._alone(endless, first.name, why))
        fresh = self._alone([self._patched], first.name, f"{len(first.broken)} test(s) failed", again=True)
        return self._evaluated(first.name, found, fresh[self._patched])

    def _alone(
        self, variants: Sequence[Variant], name: str, why: str, *, again: bool = False
    ) -> dict[Variant, ClassResult]:
        with self._progress.step(f"{name} once more: {why}"):
            found = self._run({variant: [name] for variant in variants}, self._selection.limit(name), again=again)
        return {variant: found[variant.name, name] for variant in variants}

    def _evaluated(
        self, name: str, found: Mapping[Variant, ClassResult], again: ClassResult | None = None
    ) -> ClassComparison:
        return evaluate(name, found[self._stock], found[self._patched], self._selection.differs, again)

    def _run(
        self, wanted: Mapping[Variant, list[str]], seconds: float, *, again: bool = False
    ) -> dict[tuple[str, str], ClassResult]:
        """Outcomes by (variant, class). A class of a batch that did not end well, or in which a test failed, gets a JVM
        of its own: what others left in the one that it shared may be why. Of a test that is listed the reason is known.
        """
        found = self._together(wanted, seconds)
        for variant, names in wanted.items():
            for name in names:
                first = found[variant.name, name]
                if len(names) > 1 and (first.failure or self._unlisted(variant, name, first)):
                    found.update(self._together({variant: [name]}, self._selection.limit(name)))
                if not found[variant.name, name].failure:
                    variant.keep(name, found[variant.name, name], again=again)
        return found

    def _unlisted(self, variant: Variant, name: str, found: ClassResult) -> list[str]:
        """Tests that failed; of the patched variant, those that need not."""
        listed = self._selection.differs if variant is self._patched else {}
        return [t for t, state in found.tests.items() if state == FAILED and f"{name}.{t}" not in listed]

    def _together(self, wanted: Mapping[Variant, list[str]], seconds: float) -> dict[tuple[str, str], ClassResult]:
        found: dict[tuple[str, str], ClassResult] = {}
        with contextlib.ExitStack() as stack:
            runs = [
                (variant, stack.enter_context(self._started(variant, names)))
                for variant, names in wanted.items()
                if names
            ]
            for variant, run in runs:
                found.update({(variant.name, name): outcome for name, outcome in run.outcomes(seconds).items()})
        return found

    @contextlib.contextmanager
    def _started(self, variant: Variant, names: list[str]) -> Iterator[JvmRun]:
        with self.running.member(lambda: variant.run(names, str(next(self._numbers)))) as run:
            try:
                yield run
            finally:
                run.end()
