"""Building what the harness runs: distributions and the load client, through Gradle."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.common.errors import RackspanError, environment_error
from harness.common.paths import locked_wait, project_root
from harness.common.progress import Progress
from harness.common.subprocesses import run
from harness.distribution import up_to_date

TASKS = ("dist", "stockDist", "loadClient")


def gradle_command(tasks: Sequence[str]) -> list[str]:
    """Gradle with some tasks. Raises RackspanError (exit code 4) without Gradle."""
    program = shutil.which("gradle")
    if program is None:
        raise environment_error(
            "cannot build",
            observed="gradle is not on PATH",
            do="install it: apt-get install gradle, or run ./rackspan as root",
        )
    return [program, "--no-daemon", "-q", f"-Ppython={sys.executable}", *tasks]


def gradle(tasks: Sequence[str], label: str, progress: Progress, base: str = "") -> str:
    """Runs Gradle tasks and returns their standard output; Gradle itself skips what is up to date.

    With another `base` than the product's the build is apart: neither waits for the other. Raises RackspanError with
    the end of what Gradle said (exit code 1; 4 without Gradle).
    """
    folder = project_root() / "build" / "bases" / base if base else project_root() / "build"
    apart = ["--project-cache-dir", str(folder / "gradle"), f"-Pbase={base}"] if base else []
    command = gradle_command([*apart, *tasks])
    with locked_wait(folder / ".lock"), progress.step(label) as update:
        done = run(command, update)
        if done.code:
            raise RackspanError(
                f"gradle {' '.join(tasks)} failed",
                observed="\n".join(done.reported[-40:]),
                do="correct what it names and run it again",
            )
    return done.printed


def build(progress: Progress) -> None:
    """Brings both distributions and the load client up to date."""
    root, label = project_root(), "build: patched distribution, stock distribution, load client"
    if up_to_date.is_up_to_date(root):
        progress.note(f"{label}: up to date")
        return
    before = up_to_date.inputs(root)
    gradle(TASKS, label, progress)
    up_to_date.note(root, before)


def package(progress: Progress) -> list[Path]:
    """Writes the bill of materials and the Debian package of the up-to-date distribution; returns both files."""
    root = project_root()
    build(progress)
    before = up_to_date.inputs(root)
    printed = gradle(["packages"], "packages: bill of materials, Debian package", progress)
    up_to_date.note(root, before)  # the folder of the distribution has got more files
    return [Path(line) for line in printed.splitlines()]


def fetch_object_store(progress: Progress) -> None:
    """Lays out the jars with which Spark reads object stores."""
    gradle(["objectStore"], "jars with which Spark reads object stores", progress)


def archive_spark_classes(progress: Progress) -> None:
    """Makes the archive with which a small Spark session starts in half the time, if there is none.

    Making it takes as long as five starts; where that fails reports only start slower.
    """
    archive = [sys.executable, "-m", "spark_analysis.make_class_archive"]
    lock = project_root() / "build" / "cds" / "spark.lock"
    with locked_wait(lock), progress.step("class archive of Spark (made once)") as update:
        done = run(archive, update)
    if done.code:
        progress.note(f"no class archive of Spark, sessions start slower: {' '.join(done.reported[-1:])}")
