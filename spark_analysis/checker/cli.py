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
from spark_analysis.errors import ENVIRONMENT, FAILED, OK, USAGE, AnalysisError
from spark_analysis.errors import UNKNOWN as NOT_KNOWN
from spark_analysis.input.folders import reading
from spark_analysis.locations import Location, location
from spark_analysis.session import SMALL_BYTES, session

EXIT = {ANOMALIES: FAILED, UNKNOWN: NOT_KNOWN, "ok": OK}
WORST_FIRST = (FAILED, ENVIRONMENT, USAGE, NOT_KNOWN, OK)


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
    paths: Iterable[Location | str], out: Location, *, min_racks: int | None = None, master: str | None = None
) -> int:
    """Checks runs one after another and rewrites check.json and check.html after each. Returns the exit code.

    Each verdict is printed as one line of JSON as soon as it is known, so that another program can follow; its text
    goes to stderr. So is the error of a run that cannot be checked, and the others are still checked. Raises
    AnalysisError if there is no run.
    """
    started = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    verdicts: list[CheckResult] = []
    errors: list[AnalysisError] = []
    for path in paths:
        try:
            verdict = _verdict(location(str(path)), min_racks, master)
        except AnalysisError as e:
            errors.append(e)
            said, brief = str(e), {"error": str(e)}
        else:
            verdicts.append(verdict)
            said = text(verdict)
            brief = {key: value for key, value in verdict.plain().items() if key != "anomalies"}
        print(f"[{time.monotonic() - started:5.1f} s] {said}", file=sys.stderr, flush=True)
        texts = [str(e) for e in errors]
        document = json.dumps({"runs": [v.plain() for v in verdicts], "errors": texts}, indent=1, default=str)
        write_aside(out / "check.json", document + "\n")
        write_aside(out / "check.html", page(verdicts, texts))
        print(json.dumps(brief), flush=True)
    codes = {EXIT[v.state] for v in verdicts} | {e.code for e in errors}
    if not codes:
        raise AnalysisError(
            "nothing was checked", observed="no RUN was named, and stdin has none", do="name a run folder", code=USAGE
        )
    return next(code for code in WORST_FIRST if code in codes)


def _verdict(path: Location, min_racks: int | None, master: str | None) -> CheckResult:
    with reading(path):
        history = read_history(path)
        require_replicas(history)
        with running(master, history.bytes, path) as runner:
            return check(history, runner, min_racks)
