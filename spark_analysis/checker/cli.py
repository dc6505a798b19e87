"""Verdicts of runs: `python -m spark_analysis check RUN... --out DIR`; verdicts go to stdout, progress to stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from spark_analysis.atomic_files import write_aside
from spark_analysis.checker.check import ANOMALIES, UNKNOWN, CheckResult, check
from spark_analysis.checker.history import read_history, require_replicas
from spark_analysis.checker.page import page, text
from spark_analysis.checker.runner import InProcess, OnSpark, Runner
from spark_analysis.errors import USAGE, AnalysisError
from spark_analysis.locations import Location
from spark_analysis.session import SMALL_BYTES, session

EXIT = {ANOMALIES: 1, UNKNOWN: 3, "ok": 0}


@contextmanager
def running(master: str | None, size: int, place: Location) -> Iterator[Runner]:
    """The runner for that many bytes: this process where Spark would take longer to start, and no master
    is named.
    """
    if size < SMALL_BYTES and master is None and "SPARK_ENV_LOADED" not in os.environ:
        yield InProcess()
        return
    on_spark = OnSpark(session(master, size, places=[place]))
    try:
        yield on_spark
    finally:
        on_spark.close()


def write_check(
    paths: Iterable[Location], out: Location, *, min_racks: int | None = None, master: str | None = None
) -> int:
    """Checks runs one after another and rewrites check.json and check.html after each. Returns the exit code.

    Each verdict is printed as one line of JSON as soon as it is known, so that another program can follow; its text
    goes to stderr. Raises AnalysisError for a folder that cannot be checked, or if there is none.
    """
    started = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    verdicts: list[CheckResult] = []
    for path in paths:
        history = read_history(path)
        require_replicas(history)
        with running(master, history.bytes, path) as runner:
            verdict = check(history, runner, min_racks)
        verdicts.append(verdict)
        print(f"[{time.monotonic() - started:5.1f} s] {text(verdict)}", file=sys.stderr, flush=True)
        document = json.dumps({"runs": [v.plain() for v in verdicts]}, indent=1, default=str)
        write_aside(out / "check.json", document + "\n")
        write_aside(out / "check.html", page(verdicts))
        brief = {key: value for key, value in verdict.plain().items() if key != "anomalies"}
        print(json.dumps(brief), flush=True)
    if not verdicts:
        raise AnalysisError(
            "nothing was checked", observed="no RUN was named, and stdin has none", do="name a run folder", code=USAGE
        )
    states = {v.state for v in verdicts}
    return next((EXIT[state] for state in (ANOMALIES, UNKNOWN) if state in states), EXIT["ok"])
