"""A session of system tests: ducktape as a program on our own cluster, its progress shown, its report summed up.

python -m harness.ducktape_support.session --results FOLDER [--global KEY=VALUE] SUITE_OR_PATH...
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.backends import BACKENDS
from harness.common.atomic_files import write_aside
from harness.common.errors import Exit, RackspanError, usage_error
from harness.common.paths import project_root
from harness.common.process_tree import children, end_on_signals, end_with_parent
from harness.common.progress import Progress
from harness.common.wait import wait_for
from harness.ducktape_support.session_load_client import session_load_client
from harness.ducktape_support.shared_clusters import SharedCluster, session_clusters
from harness.ducktape_support.stale_clusters import remove_abandoned
from harness.ducktape_support.suites import path_in_project
from harness.hosts.host import Capability
from harness.network import namespaces
from harness.network.netns_support import attempt

NO_NETWORKS = "RACKSPAN_NO_NETWORKS"  # environment variable of ducktape: why tests that need networks are skipped
CLUSTER = "harness.ducktape_support.rack_cluster.RackCluster"
_ENDED = re.compile(r"RunnerClient: (\S+\.\w+\.\w+\S*): (PASS|FAIL|FLAKY|IGNORE)")
_BEGUN = re.compile(r"RunnerClient: (\S+\.\w+\.\w+\S*): Setting up")
_PREFIX = re.compile(r"^system_tests\.")
_ATTEMPT = re.compile(r"runs? [\d, ]+ summary:")  # heads what ducktape reports of a test that was tried again


@dataclass(frozen=True)
class TestOutcome:
    """One test: `status` as ducktape names it, FLAKY if it passed at the second attempt only; `why` the first line of
    its first failure; `folder` its logs and runs.
    """

    test: str
    status: str
    seconds: float
    why: str
    folder: Path
    symbol: str


@dataclass(frozen=True)
class SessionResult:
    """All tests of a session; `folder` holds ducktape's reports."""

    folder: Path
    outcomes: tuple[TestOutcome, ...]
    code: Exit

    @property
    def failed(self) -> tuple[TestOutcome, ...]:
        """Tests that failed."""
        return tuple(o for o in self.outcomes if o.status == "FAIL")

    @property
    def runs(self) -> list[Path]:
        """Run folders that the tests wrote."""
        return sorted(p.parent for p in self.folder.glob("**/runs/*/manifest.json") if "latest" not in p.parts)

    def lines(self) -> list[str]:
        """The summary for a person: what went wrong first, with where to look and how to run it again."""
        text = failures(self.outcomes)
        text += [f"{o.status.lower():6} {o.test} ({o.seconds:.0f} s)" for o in self.outcomes if o.status != "FAIL"]
        number = {s: sum(o.status == s for o in self.outcomes) for s in ("PASS", "FLAKY", "FAIL", "IGNORE")}
        counts = f"{number['PASS'] + number['FLAKY']} passed, {number['FAIL']} failed"
        counts += f", {number['FLAKY']} of them at the second attempt" if number["FLAKY"] else ""
        counts += f", {number['IGNORE']} ignored" if number["IGNORE"] else ""
        return [*text, f"{counts}; reports in {self.folder}"]


def run_suite(
    paths: Sequence[str | Path],
    results: Path,
    globals_: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    attempts: int = 1,
) -> SessionResult:
    """Runs suites (YAML files), folders, files or `file::Class.method` in the project, one test after the other.

    Clusters that an earlier, killed session left are ended before and those of this one after. With more than one
    attempt a test that fails is tried again, and is distinguished from those that passed at once. Raises RackspanError
    (exit code 2) if there is nothing to run.
    """
    progress = progress or Progress()
    for name in remove_abandoned():
        progress.note(f"cluster {name} of an interrupted session ended")
    folder = results.resolve() / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    folder.mkdir(parents=True)
    rights, no_networks = _rights(globals_ or {})
    if no_networks:
        progress.note(f"tests that need networks between racks are skipped: {no_networks}")
    command = [*rights, sys.executable, "-m", "harness.ducktape_support.ducktape_main", "--cluster", CLUSTER]
    command += ["--results-root", str(folder)]
    command += [
        "--globals",
        json.dumps(dict(globals_ or {})),
        "--deflake",
        str(attempts),
        *(path_in_project(p) for p in paths),
    ]
    log = folder / "ducktape.log"
    try:
        with (
            session_load_client(folder / "load-client") as load_client,
            session_clusters(folder / "clusters") as clusters,
        ):
            environment = {**clusters.environment, **load_client, NO_NETWORKS: no_networks}
            code = _run(command, log, progress, environment, clusters.pipe)
            failed_clusters = clusters.close()
    finally:
        remove_abandoned()
        _remove_pages(folder)
    report = next(iter(sorted(folder.glob("*/report.json"))), None)
    if report is None:
        tail = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-1:]
        raise usage_error("no system test was run", observed=f"ducktape ended with {code}: {tail}", do=f"read {log}")
    charge(report, failed_clusters)
    outcomes = read_report(report)
    bad = code != 0 or any(o.status == "FAIL" for o in outcomes)
    return SessionResult(report.parent, tuple(outcomes), Exit.FAILED if bad else Exit.OK)


def _remove_pages(folder: Path) -> None:
    """Removes ducktape's HTML, which is blank offline as it loads scripts; report.txt has the same."""
    for page in (*folder.glob("*/report.html"), *folder.glob("*/report.css")):
        page.unlink(missing_ok=True)  # the link `latest` leads to the same files


def read_report(report: Path) -> list[TestOutcome]:
    """Outcomes from ducktape's report.json, in the order in which the tests ran."""
    rows = json.loads(report.read_text(encoding="utf-8"))["results"]
    return [_outcome(row, report.parent) for row in sorted(rows, key=lambda row: float(row["start_time"]))]


def charge(report: Path, failed: Iterable[SharedCluster]) -> None:
    """Marks in report.json the last test of each cluster that did not end well as failed."""
    for cluster in failed:
        why = f"cluster {cluster.name} of {', '.join(cluster.tests)} did not end well: {'; '.join(cluster.violations)}"
        data = json.loads(report.read_text(encoding="utf-8"))
        for row in data["results"]:
            if row["test_id"] == cluster.tests[-1]:
                row["summary"] = why if row["test_status"] == "PASS" else f"{row['summary']}\n{why}"
                row["test_status"] = "FAIL"
        write_aside(report, json.dumps(data, indent=1) + "\n")


def failures(outcomes: Iterable[TestOutcome]) -> list[str]:
    """Failures as lines: tests that failed, and those that passed at the second attempt only."""
    text: list[str] = []
    for o in outcomes:
        if o.status in ("FAIL", "FLAKY"):
            text += [f"{o.status} {o.test} ({o.seconds:.0f} s)", f"  {o.why}", f"  logs: {o.folder}"]
            text += [f"  again: ./rackspan test '{o.symbol}'"]
    return text


def _outcome(row: Mapping[str, Any], folder: Path) -> TestOutcome:
    said = (line.strip() for line in str(row.get("summary", "")).splitlines())
    why = next((line for line in said if line and not _ATTEMPT.fullmatch(line)), "")
    name = _PREFIX.sub("", str(row["test_id"]))
    file = str(row["module_name"]).replace(".", "/") + ".py"
    symbol = f"{file}::{row['cls_name']}.{row['function_name']}"
    seconds = float(row["run_time_seconds"])
    return TestOutcome(
        name, str(row["test_status"]).upper(), seconds, why, folder / str(row["relative_results_dir"]), symbol
    )


def _run(command: Sequence[str], log: Path, progress: Progress, more: Mapping[str, str], pipe: int) -> int:
    """Runs ducktape to its end, reporting each test as it begins and ends. On Ctrl-C it is given time to tear down."""
    environment = {
        **os.environ,
        **more,
        "PYTHONPATH": _joined(str(project_root()), os.environ.get("PYTHONPATH", "")),
    }
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            command,
            cwd=project_root(),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            preexec_fn=_begin,
            pass_fds=(pipe,),
        )
        try:
            assert process.stdout is not None
            began: dict[str, float] = {}
            for line in process.stdout:
                out.write(line)
                out.flush()
                _report_step(line, began, progress)
            return process.wait()
        except BaseException:
            _end(process)
            raise


def _begin() -> None:
    """Runs in ducktape's process before it is ducktape.

    A shell switches SIGINT off in what it runs in the background, but ducktape's tests end themselves with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent(signal.SIGKILL)


def _report_step(line: str, began: dict[str, float], progress: Progress) -> None:
    if begun := _BEGUN.search(line):
        began[begun[1]] = time.monotonic()
    elif (ended := _ENDED.search(line)) and ended[1] in began:
        seconds = time.monotonic() - began.pop(ended[1])
        progress.note(f"{ended[2].lower():6} {_PREFIX.sub('', ended[1])} ({seconds:.0f} s)")


def _end(process: subprocess.Popen[str]) -> None:
    """Lets the running tests tear down, then ends ducktape, which itself would kill them or wait for half an hour."""
    for pid in children(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    with suppress(RackspanError):
        wait_for("tests to tear down", lambda: not children(process.pid), 60)
    process.kill()
    process.wait()


def _rights(globals_: Mapping[str, Any]) -> tuple[list[str], str]:
    """The command that ducktape is started with, so that it may make networks: once it has threads it is too late; and
    why there are none, "" if there are.
    """
    name = globals_.get("backend", "local")
    if name not in BACKENDS:
        raise usage_error(
            f"backend {name!r} not found", observed=f"known: {', '.join(BACKENDS)}", do="name one of them"
        )
    skip_reason = attempt().skip_reason
    why = skip_reason
    if "backend" in globals_ and Capability.DELAY not in BACKENDS[name].capabilities:
        why = f"the backend {name} has none"
    return [] if skip_reason and name != "netns" else namespaces.user_prefix(), why


def _joined(*parts: str) -> str:
    return os.pathsep.join(part for part in parts if part)


class _Lines(Progress):
    """Progress as plain lines, at once."""

    def note(self, text: str) -> None:
        print(text, flush=True)


def main() -> int:
    """Runs a session from the command line; exit code 1 if a test failed."""
    end_on_signals()
    parser = argparse.ArgumentParser(description="system tests on local hosts")
    parser.add_argument("paths", nargs="+", help="suites, folders, files or file::Class.method")
    parser.add_argument("--results", type=Path, default=project_root() / "results" / "system")
    parser.add_argument("--global", dest="globals", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--attempts", type=int, default=1, help="how often a test that fails is tried")
    options = parser.parse_args()
    try:
        globals_ = dict(g.split("=", 1) for g in options.globals)
        result = run_suite(options.paths, options.results, globals_, _Lines(), options.attempts)
    except RackspanError as e:
        print(e, file=sys.stderr)
        return int(e.code)
    except KeyboardInterrupt:
        print("interrupted; the clusters of this session are ended", file=sys.stderr)
        return 130
    print("\n".join(["", *result.lines()]))
    return int(result.code)


if __name__ == "__main__":
    sys.exit(main())
