"""`gradle benchmark`: JMH on the official jars and on the patched ones, and a comparison of the two."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import comb
from pathlib import Path
from statistics import median

from kpatch import compile as compiler
from kpatch import junit, paths, toolchain, upstream
from kpatch.errors import KpatchError

SOURCES = paths.KAFKA_PATCH / "src" / "jmh" / "java"
_MEMORY = "gc.alloc.rate.norm"
# Logs lie in memory where that can be: a disk that writes back would be measured instead.
_TMPFS = Path("/dev/shm")


# The least rounds that have an interval: a median is between the least and the greatest of six in 97 of 100 cases.
ENOUGH = 6
# ns/op over stock: where nothing is requested, at either level, and where two racks are.
BOUNDS = {"off": 1.02, "level2": 1.02, "on": 1.15, "waiting": 1.15, "set": 1.15}
NAMES = {
    "LeaderBenchmark.append": "append to a leader",
    "LeaderBenchmark.fetchMoved": "fetch that moves a follower",
    "LeaderBenchmark.fetchState": "fetch that moves nothing",
    "MetadataBenchmark.respond": "metadata response",
    "PartitioningBenchmark.choose": "choice of a partition",
    "RequestBenchmark.request": "produce request until its answer",
}
CELLS = {"level2": "level 2", "set": "level 2, waiting"}
_KEY = tuple[str, int, str]


@dataclass(frozen=True)
class Cell:
    """One benchmark with its parameters in one round of one variant: ns and bytes an operation."""

    benchmark: str
    replicas: int
    feature: str
    ns: float
    bytes: float

    @property
    def key(self) -> _KEY:
        """The identity of the cell, the same in every round."""
        return self.benchmark, self.replicas, self.feature


@dataclass(frozen=True)
class Round:
    """The cells of one round, of both variants."""

    stock: list[Cell]
    patched: list[Cell]


def run(stock: Path, patched: Path, out: Path, options: list[str], rounds: int) -> str:
    """Compiles the benchmarks, runs them on both folders of jars in turn, writes `out/rounds.json` and the table that
    follows from it, `out/benchmark.md`; returns the latter.

    In every other round the patched jars come first. `options` go to JMH, as a pattern of names. Raises KpatchError.
    """
    if rounds < 1:
        raise KpatchError(
            "nothing to measure", f"{rounds} rounds are requested", f"Ask for one, or {ENOUGH} for a verdict"
        )
    tests = [a.file for a in (*upstream.artifacts("test"), *upstream.artifacts("junit"), *upstream.artifacts("jmh"))]
    classes = out / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    classes.mkdir(parents=True)
    sources = [*sorted(SOURCES.rglob("*.java")), junit.TESTS / "java/io/rackspan/cluster/LeaderFixture.java"]
    # Newer compilers run annotation processors only with an option.
    processors = ["-proc:full"] if toolchain.javac_major() >= 21 else []
    command = [compiler.tools().javac, *processors, "--release", "17", "-nowarn"]
    command += ["-d", str(classes), "-cp", _join([*_jars(patched), *tests]), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KpatchError("the benchmarks do not compile", done.stderr[-4000:], "Correct them in kafka-patch/src/jmh")
    variants = {"stock": (stock, [*without_feature(options), "-p", "feature=off"]), "patched": (patched, options)}
    found = []
    for number in range(rounds):
        order = list(variants) if number % 2 == 0 else list(variants)[::-1]
        measured = {}
        for name in order:
            print(f"round {number + 1} of {rounds}: {name}", flush=True)
            libs, mine = variants[name]
            measured[name] = _measure(name, [classes, *_jars(libs), *tests], out, mine)
        found.append(Round(measured["stock"], measured["patched"]))
    (out / "rounds.json").write_text(json.dumps([asdict(one) for one in found]))
    text = table(found)
    (out / "benchmark.md").write_text(text)
    return text


def without_feature(options: Sequence[str]) -> list[str]:
    """Options of JMH without the choice of cells, of which stock has one: JMH would take both choices together."""
    chosen = [i for i, (a, b) in enumerate(pairwise(options)) if a == "-p" and b.startswith("feature=")]
    return [option for i, option in enumerate(options) if i not in chosen and i - 1 not in chosen]


def _measure(name: str, path: Iterable[Path], out: Path, options: list[str]) -> list[Cell]:
    file, tmp = out / f"{name}.json", (_TMPFS if _TMPFS.is_dir() else out) / f"rackspan-jmh-{os.getpid()}"
    tmp.mkdir()
    jvm = ["-Xms2g", "-Xmx2g", "-XX:+UseParallelGC", f"-Djava.io.tmpdir={tmp}"]
    command = [compiler.tools().java, *jvm, "-cp", _join(path), "org.openjdk.jmh.Main", "-bm", "avgt", "-tu", "ns"]
    command += ["-foe", "true", "-prof", "gc", "-rf", "json", "-rff", str(file), *options]
    try:
        code = subprocess.run(command, cwd=out, check=False).returncode
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    if code or not file.is_file():
        raise KpatchError(f"JMH on {name} jars failed", f"exit code {code}", "See its output above")
    return parse(file.read_text())


def parse(text: str) -> list[Cell]:
    """Cells of a JMH result file (JSON)."""
    found = []
    for row in json.loads(text):
        memory = row["secondaryMetrics"].get(_MEMORY, {"score": 0.0})
        name, parameters = ".".join(row["benchmark"].split(".")[-2:]), row["params"]
        cell = Cell(
            name, int(parameters["replicas"]), parameters["feature"], row["primaryMetric"]["score"], memory["score"]
        )
        found.append(cell)
    return found


def read_rounds(text: str) -> list[Round]:
    """The rounds of a file `rounds.json`."""
    return [Round(*([Cell(**cell) for cell in one[name]] for name in ("stock", "patched"))) for one in json.loads(text)]


def table(rounds: Sequence[Round]) -> str:
    """Markdown: each cell of the patched jars beside the same benchmark on the official ones: medians over rounds, the
    interval of the median ratio to stock of the same round, and whether all of it is within its bound.
    """
    lines = [
        "| benchmark | replicas | cell | ns/op | B/op | ns / stock | 95 % interval | bound | B - stock |",
        "| --- | ---: | --- | ---: | ---: | ---: | --- | --- | ---: |",
    ]
    patched = _by_key(r.patched for r in rounds)
    for key, stock in sorted(_by_key(r.stock for r in rounds).items()):
        measured = f"{_middle(c.ns for c in stock)} | {_middle(c.bytes for c in stock)}"
        lines.append(f"| {NAMES[key[0]]} | {key[1]} | stock | {measured} | | | | |")
        lines += [_row(cells, stock) for other, cells in patched.items() if other[:2] == key[:2]]
    return "\n".join(lines) + "\n"


def _by_key(rounds: Iterable[list[Cell]]) -> dict[_KEY, list[Cell]]:
    """The same cell of all rounds, in their order."""
    found: dict[_KEY, list[Cell]] = {}
    for cells in rounds:
        for cell in cells:
            found.setdefault(cell.key, []).append(cell)
    return found


def _row(cells: list[Cell], stock: list[Cell]) -> str:
    ratios = [c.ns / s.ns for c, s in zip(cells, stock, strict=True)]
    between = interval(ratios)
    bound = BOUNDS[cells[0].feature]
    feature = CELLS.get(cells[0].feature, cells[0].feature)
    columns = [NAMES[cells[0].benchmark], cells[0].replicas, f"patched, {feature}"]
    columns += [_middle(c.ns for c in cells), _middle(c.bytes for c in cells)]
    columns += [f"{median(ratios):.3f}", f"{between[0]:.3f} to {between[1]:.3f}" if between else ""]
    columns += [f"{bound}: {verdict(ratios, bound)}"]
    apart = median(c.bytes - s.bytes for c, s in zip(cells, stock, strict=True))
    columns += [f"{'+' if apart > 0 else ''}{_number(apart)}"]
    return f"| {' | '.join(map(str, columns))} |"


def interval(ratios: Sequence[float]) -> tuple[float, float] | None:
    """The interval of the median that holds with at least 95 %, whatever the distribution: from the k-th least to the
    k-th greatest ratio. None for too few rounds.
    """
    rounds, k = len(ratios), 0
    # Half of all are above the median: how many of these rounds are is binomial
    while 2 * sum(comb(rounds, i) for i in range(k + 1)) <= 0.05 * 2**rounds:
        k += 1
    ordered = sorted(ratios)
    return (ordered[k - 1], ordered[-k]) if k else None


def verdict(ratios: Sequence[float], bound: float) -> str:
    """The verdict on the median ratio, as far as the rounds allow one."""
    between = interval(ratios)
    if between is None:
        return "not enough runs"
    if between[1] <= bound:
        return "met"
    return "missed" if between[0] > bound else "not shown"


def _middle(values: Iterable[float]) -> str:
    return _number(median(values))


def _number(value: float) -> str:
    """One digit behind the point; none from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}"


def _jars(libs: Path) -> list[Path]:
    return [p for p in sorted(libs.glob("*.jar")) if "javaagent" not in p.name]


def _join(path: Iterable[Path]) -> str:
    return os.pathsep.join(map(str, path))
