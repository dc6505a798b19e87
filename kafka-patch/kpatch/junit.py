"""Runs JUnit classes on a distribution's jars: our own tests, or upstream's compiled ones by name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kpatch import compile as compiler
from kpatch import paths, upstream

TESTS = paths.KAFKA_PATCH / "src" / "test"
# Our tests run for seconds each, most of which optimising their code would take.
_BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def classpath(libs: Path) -> list[Path]:
    """The jars of `libs`, then upstream's compiled tests and what they run on."""
    jars = [p for p in sorted(libs.glob("*.jar")) if "javaagent" not in p.name]
    # Several test jars hold a log4j2.yaml; upstream's tests that read log lines need that of kafka_2.13.
    tests = sorted(upstream.artifacts("test"), key=lambda a: a.name != "kafka_2.13")
    return [*jars, *dict.fromkeys(a.file for a in [*tests, *upstream.artifacts("junit")])]


def _official() -> list[Path]:
    """The base's own jars, and its compiled tests."""
    runtime = [a.file for a in upstream.artifacts("runtime") if a.group == "org.apache.kafka"]
    return [*runtime, *(a.file for a in upstream.artifacts("test") if a.group == "org.apache.kafka")]


def run(libs: Path, out: Path, classes: list[str]) -> int:
    """Compiles our tests against the jars of `libs` and runs them, or runs the named upstream classes instead.

    Reports go to `out/reports` (JUnit XML). Returns the console's exit code: 0 all passed, 1 some failed, 2 none found.
    """
    path = classpath(libs)
    ours = out / "classes"
    if classes:
        select = [f"--select-class={c}" for c in classes]
    else:
        # close() of upstream's test clusters throws InterruptedException, which the lint `try` is about.
        compiler.compile_strict("kafka-patch/src/test", sorted(TESTS.rglob("*.java")), ours, path, "try")
        path.insert(0, TESTS / "resources")
        select = [f"--scan-classpath={ours}", "--include-classname=.*Test"]
    folder = out / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    command = [compiler.tools().java, "-Xmx2g", *(() if classes else _BRIEF)]
    command += ["-Djava.security.manager=allow", f"-Djava.io.tmpdir={folder}"]
    # Bytes on the wire and records in the metadata log are compared with those of the official classes.
    command.append(f"-Drackspan.stock.path={os.pathsep.join(map(str, _official()))}")
    command += [
        "-cp",
        os.pathsep.join(map(str, [ours, *path])),
        "org.junit.platform.console.ConsoleLauncher",
        "execute",
    ]
    command += ["--details=tree", "--disable-banner", f"--reports-dir={out / 'reports'}", *select]
    return subprocess.run(command, cwd=out, check=False).returncode
