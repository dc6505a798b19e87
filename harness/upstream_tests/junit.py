"""JUnit's console on a class path: one JVM for some classes, and the outcome of each."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from junitparser import Error, Failure, JUnitXml

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_OPTIONS = (
    *("-Xmx2g", "-Xss4m", "-XX:+UseSerialGC", "-Djava.security.manager=allow"),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",  # MiniKdc lets it read its file again
)
# Of classes that share a JVM each runs for seconds, most of which compiling would take. One alone may be long.
_BRIEF = ("-XX:TieredStopAtLevel=1",)
# How the console's feed, in the log, ends the line of a test that begins.
_BEGUN = " :: STARTED"
# Where one class cannot be loaded, every test of its JVM is reported as failed; alone it seems to hold none.
_UNDISCOVERED = "TestEngine with ID 'junit-jupiter' encountered"
_REPORT = "TEST-junit-jupiter.xml"
_READ_BYTES = 1 << 24  # of a log, from its end
_FILE_BYTES = 1 << 32  # that a JVM may write to a file, its log among them
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2


@dataclass(frozen=True)
class ClassResult:
    """Result of one class: test -> passed, failed or skipped; seconds; `failure` if its JVM did not end well."""

    tests: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    failure: str = ""
    messages: dict[str, str] = field(default_factory=dict)

    def count(self, what: str) -> int:
        """Number of tests with that outcome."""
        return sum(state == what for state in self.tests.values())


class JvmRun:
    """A JVM that runs some classes, in a folder of its own that is gone afterwards."""

    def __init__(self, path: Sequence[Path], classes: Sequence[str], folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "work" / "tmp").mkdir(parents=True)
        self.classes, self.folder = classes, folder
        command = [
            _java(),
            *_OPTIONS,
            *(_BRIEF if len(classes) > 1 else ()),
            f"-Djava.io.tmpdir={folder / 'work' / 'tmp'}",
            *_names(folder / "hosts"),
        ]
        command += ["-cp", os.pathsep.join(map(str, path)), "org.junit.platform.console.ConsoleLauncher", "execute"]
        command += ["--details=testfeed", "--disable-banner", f"--reports-dir={folder / 'reports'}"]
        command += [f"--select-class={name}" for name in classes]
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder / "work",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_bounded,
            )
        self._began = time.monotonic()

    def outcomes(self, seconds: float) -> dict[str, ClassResult]:
        """Waits for the JVM, at most that long since its start, and returns the outcome of each class."""
        try:
            code = self._process.wait(max(0.0, self._began + seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.end()
            failure = f"no end in {seconds:.0f} s{self._last_begun()}"
            return {name: ClassResult(seconds=seconds, failure=failure) for name in self.classes}
        shutil.rmtree(self.folder / "work", ignore_errors=True)
        reported = self._log()
        if _UNDISCOVERED in reported:
            return dict.fromkeys(self.classes, ClassResult(failure=_unloaded(reported)))
        report = self.folder / "reports" / _REPORT
        if not report.is_file():
            return {
                name: ClassResult(failure=f"exit code {code} and no report{self._last_words()}")
                for name in self.classes
            }
        return parse(report, self.classes)

    def end(self) -> None:
        """Kills the JVM and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self.folder / "work", ignore_errors=True)

    def _log(self) -> str:
        """The end of what was printed. A test whose client repeats an error without a pause fills any memory."""
        with (self.folder / "log").open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _READ_BYTES))
            return log.read().decode(errors="replace")

    def _last_begun(self) -> str:
        begun = [line for line in self._log().splitlines() if line.endswith(_BEGUN)]
        return f", last in {begun[-1].partition(' > ')[2].removesuffix(_BEGUN)[:200]}" if begun else ""

    def _last_words(self) -> str:
        lines = [line for line in self._log().splitlines() if line.strip()]
        return f": {lines[-1].strip()[:200]}" if lines else ""


def _names(file: Path) -> list[str]:
    """Options of a JVM that make this machine's name known where nobody else does: hundreds of tests look it up."""
    name = socket.gethostname()
    if _resolves(name):
        return []
    file.write_text(f"127.0.0.1 localhost {name}\n", encoding="utf-8")
    return [f"-Djdk.net.hosts.file={file}"]


@cache  # an unknown name may take seconds, and there are many JVMs
def _resolves(name: str) -> bool:
    try:
        socket.gethostbyname(name)
    except OSError:
        return False
    return True


def parse(report: Path, classes: Sequence[str]) -> dict[str, ClassResult]:
    """Outcomes of classes in a JUnit XML file; tests of nested classes carry the nested class in their name."""
    tests: dict[str, dict[str, str]] = {name: {} for name in classes}
    messages: dict[str, dict[str, str]] = {name: {} for name in classes}
    seconds = dict.fromkeys(classes, 0.0)
    for case in (case for suite in JUnitXml.fromfile(str(report)) for case in suite):
        outer, _, inner = (case.classname or "").partition("$")
        if outer not in tests:
            continue
        name = f"{inner}.{case.name}" if inner else case.name or ""
        bad = next((r for r in case.result if isinstance(r, (Failure, Error))), None)
        state = FAILED if bad is not None else SKIPPED if case.is_skipped else PASSED
        # The same name twice: the worse one counts.
        if tests[outer].get(name) != FAILED:
            tests[outer][name] = state
        if bad is not None:
            words = (bad.message or bad.text or bad.type or "").strip().splitlines()
            messages[outer][name] = words[0][:300] if words else ""
        seconds[outer] += case.time or 0.0
    return {name: ClassResult(tests[name], round(seconds[name], 3), "", messages[name]) for name in classes}


def _unloaded(log: str) -> str:
    """Names of the classes that could not be loaded, and of those that they lack.

    Of an array its elements: which of the two a JVM looks for first varies.
    """
    classes = re.findall(r"className = '([^']+)', classLoader = \S+\] resolution failed", log)
    causes = re.findall(r"Cause: \S+?(?:Error|Exception): (?:\[+L)?([^\s;]+)", log)
    return f"{', '.join(dict.fromkeys(classes))} cannot be loaded: {', '.join(dict.fromkeys(causes))}"


def _bounded() -> None:
    """Closes files that must not be read or written to root too: some tests look at what happens then. Bounds files."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = _FILE_BYTES if most == resource.RLIM_INFINITY else min(most, _FILE_BYTES)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    libc = ctypes.CDLL(None)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        libc.prctl(_PR_CAPBSET_DROP, capability)  # refused to those who have no such power anyway


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    path = Path(home, "bin", "java") if home else None
    return str(path) if path is not None and path.exists() else "java"
