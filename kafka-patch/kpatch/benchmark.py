"""`gradle benchmark`: JMH on the official jars and on the patched ones, and the two side by side."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kpatch import compile as compiler
from kpatch import junit, paths, toolchain, upstream
from kpatch.errors import KpatchError

SOURCES = paths.KAFKA_PATCH / "src" / "jmh" / "java"
_MEMORY = "gc.alloc.rate.norm"
# Logs lie in memory where that can be: a disk that writes back would be measured instead.
_TMPFS = Path("/dev/shm")


@dataclass(frozen=True)
class Cell:
    """One benchmark with its parameters on one side: ns and bytes an operation, each with JMH's error."""

    benchmark: str
    replicas: int
    feature: str
    ns: float
    ns_error: float
    bytes: float
    bytes_error: float


def run(stock: Path, patched: Path, out: Path, options: list[str]) -> str:
    """Compiles the benchmarks, runs them on both folders of jars, writes `out/benchmark.md`; returns its text.

    `options` go to JMH, as `-f 3` or a pattern of names. Raises KpatchError.
    """
    tests = [a.file for a in (*upstream.artifacts("test"), *upstream.artifacts("junit"), *upstream.artifacts("jmh"))]
    classes = out / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    classes.mkdir(parents=True)
    sources = [*sorted(SOURCES.rglob("*.java")), junit.TESTS / "java/io/rackspan/cluster/LeaderFixture.java"]
    # Newer compilers run annotation processors only when they are told to.
    processors = ["-proc:full"] if toolchain.javac_major() >= 21 else []
    command = [compiler.tools().javac, *processors, "--release", "17", "-nowarn"]
    command += ["-d", str(classes), "-cp", _join([*_jars(patched), *tests]), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KpatchError("the benchmarks do not compile", done.stderr[-4000:], "Correct them in kafka-patch/src/jmh")
    results = {}
    for name, libs, more in (("stock", stock, ["-p", "feature=off"]), ("patched", patched, [])):
        results[name] = _measure(name, [classes, *_jars(libs), *tests], out, [*options, *more])
    text = table(results["stock"], results["patched"])
    (out / "benchmark.md").write_text(text)
    return text


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
        raise KpatchError(f"JMH on {name} jars failed", f"exit code {code}", "See what it says above")
    return parse(file.read_text())


def parse(text: str) -> list[Cell]:
    """Cells of a JMH result file (JSON)."""
    found = []
    for row in json.loads(text):
        time, memory = row["primaryMetric"], row["secondaryMetrics"].get(_MEMORY, {"score": 0.0, "scoreError": 0.0})
        found.append(
            Cell(
                ".".join(row["benchmark"].split(".")[-2:]),
                int(row["params"]["replicas"]),
                row["params"]["feature"],
                time["score"],
                float(time["scoreError"]),  # JMH writes "NaN" where there is one measurement only
                memory["score"],
                float(memory["scoreError"]),
            )
        )
    return found


def table(stock: Iterable[Cell], patched: Iterable[Cell]) -> str:
    """Markdown: each cell of the patched jars beside the same benchmark on the official ones."""
    base = {(c.benchmark, c.replicas): c for c in stock}
    lines = [
        "| benchmark | replicas | cell | ns/op | B/op | ns / stock | B - stock |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for cell in sorted(base.values(), key=lambda c: (c.benchmark, c.replicas)):
        lines.append(_row(cell, "stock", cell))
        lines += [
            _row(c, f"patched, {c.feature}", cell)
            for c in patched
            if (c.benchmark, c.replicas) == (cell.benchmark, cell.replicas)
        ]
    return "\n".join(lines) + "\n"


def _row(cell: Cell, label: str, stock: Cell) -> str:
    ratio = f"{cell.ns / stock.ns:.2f}" if stock.ns else "-"
    times, memory = _with_error(cell.ns, cell.ns_error), _with_error(cell.bytes, cell.bytes_error)
    columns = (cell.benchmark, cell.replicas, label, times, memory, ratio, f"{cell.bytes - stock.bytes:+.1f}")
    return f"| {' | '.join(map(str, columns))} |"


def _with_error(value: float, error: float) -> str:
    return f"{value:.1f}" if math.isnan(error) else f"{value:.1f} ± {error:.1f}"


def _jars(libs: Path) -> list[Path]:
    return [p for p in sorted(libs.glob("*.jar")) if "javaagent" not in p.name]


def _join(path: Iterable[Path]) -> str:
    return os.pathsep.join(map(str, path))
