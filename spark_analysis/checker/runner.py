"""Two ways to run the same steps: in this process, for what is small, and as tasks of Spark."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JJavaError
from pyspark import RDD, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_analysis.errors import ENVIRONMENT, AnalysisError

Spread = Callable[[Any], Iterable[tuple[Any, Any]]]  # an item to pieces, each with the key of its group
Evaluate = Callable[[Any, list[Any]], tuple[Any, list[Any]]]  # key and pieces to a summary and what is left
MOST_GROUPS = 1000  # that are apart while they travel


class Runner(Protocol):
    """Runs one step: spreads items to groups, and evaluates each group by itself.

    `groups` is about how many there will be, `slot` the number of one, spread evenly. Returns the summaries, and what
    is left as the source of a later step.
    """

    def step(
        self, source: Any, spread: Spread, evaluate: Evaluate, groups: int, slot: Callable[[Any], int]
    ) -> tuple[list[Any], Any]: ...

    def joined(self, sources: Sequence[Any]) -> Any:
        """Several sources as one."""

    def without(self, left: Any, keys: frozenset[Any]) -> Any:
        """The rest of a step, without that of these groups."""


class InProcess:
    """Runs a step here."""

    def step(
        self, source: Any, spread: Spread, evaluate: Evaluate, groups: int, slot: Callable[[Any], int]
    ) -> tuple[list[Any], Any]:
        """One group after another."""
        found: dict[Any, list[Any]] = {}
        for item in source:
            for key, piece in spread(item):
                found.setdefault(key, []).append(piece)
        done = [(key, *evaluate(key, pieces)) for key, pieces in found.items()]
        return [summary for _, summary, _ in done], [(key, piece) for key, _, left in done for piece in left]

    def joined(self, sources: Sequence[Any]) -> Any:
        """Several sources as one."""
        return [item for source in sources for item in source]

    def without(self, left: Any, keys: frozenset[Any]) -> Any:
        """The rest of a step, without that of these groups."""
        return [item for item in left if item[0] not in keys]


class OnSpark:
    """Runs a step as tasks of Spark: pieces are shuffled as they are, NumPy columns of many rows each.

    What is left of a step stays on the disks of the executors until `close`.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._kept: list[RDD[Any]] = []
        self._programs: tempfile.TemporaryDirectory[str] | None = None
        if not str(self._context.master).startswith("local"):
            self._programs = tempfile.TemporaryDirectory(prefix="rackspan-programs-")
            self._context.addPyFile(str(_packed(Path(self._programs.name))))

    def step(
        self, source: Any, spread: Spread, evaluate: Evaluate, groups: int, slot: Callable[[Any], int]
    ) -> tuple[list[Any], Any]:
        """One task for each part of the source, and one for each group or several groups."""
        items = source if isinstance(source, RDD) else self._context.parallelize(source, max(1, len(source)))
        parts = max(self._context.defaultParallelism, min(groups, MOST_GROUPS))

        def spread_out(item: Any) -> Iterator[tuple[int, Any]]:
            for key, piece in spread(item):
                yield slot(key) % parts, (key, piece)

        def evaluated(incoming: Iterable[tuple[int, Any]]) -> Iterator[tuple[Any, Any, list[Any]]]:
            found: dict[Any, list[Any]] = {}
            for _, (key, piece) in incoming:
                found.setdefault(key, []).append(piece)
            while found:
                key, pieces = found.popitem()
                yield (key, *evaluate(key, pieces))

        done = items.flatMap(spread_out).partitionBy(parts, int).mapPartitions(evaluated)
        done = done.persist(StorageLevel.DISK_ONLY)
        self._kept.append(done)
        try:
            summaries = done.map(lambda one: one[1]).collect()
        except (Py4JJavaError, PySparkException) as e:
            if error := _raised_by_a_task(str(e)):
                raise error from e
            raise
        return summaries, done.flatMap(lambda one: [(one[0], piece) for piece in one[2]])

    def joined(self, sources: Sequence[Any]) -> Any:
        """Several sources as one."""
        rdds = [one if isinstance(one, RDD) else self._context.parallelize(one, max(1, len(one))) for one in sources]
        return self._context.union(rdds)

    def without(self, left: Any, keys: frozenset[Any]) -> Any:
        """The rest of a step, without that of these groups."""
        return left.filter(lambda item: item[0] not in keys)

    def close(self) -> None:
        """Removes what was kept."""
        for one in self._kept:
            one.unpersist()
        if self._programs is not None:
            self._programs.cleanup()


def _raised_by_a_task(text: str) -> AnalysisError | None:
    """The error of the analysis that is in the text of one of Spark's: that of a file which a task could not read."""
    found = text.partition(f"{AnalysisError.__module__}.{AnalysisError.__name__}: ")[2].splitlines()
    if len(found) < 3:
        return None
    observed, do = (line.partition(": ")[2].strip() for line in found[1:3])
    return AnalysisError(found[0], observed=observed, do=do, code=ENVIRONMENT)


def _packed(folder: Path) -> Path:
    """The programs of the analysis as one file, for executors on other machines."""
    home, archive = Path(__file__).parents[2], folder / "spark_analysis.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted((home / "spark_analysis").rglob("*.py")):
            packed.write(file, file.relative_to(home))
    return archive
