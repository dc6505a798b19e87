"""Counts and times of tests, read from JUnit XML files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import ParseError

from junitparser import JUnitXml, JUnitXmlError, TestCase, TestSuite

from harness.common.errors import RackspanError


@dataclass(frozen=True)
class Counts:
    """Numbers of tests that passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


@dataclass(frozen=True)
class CaseTime:
    """One test and the seconds that it took."""

    test: str
    seconds: float


def count(folder: Path, since: float = 0.0) -> Counts:
    """Sums the JUnit XML files below a folder that were written after `since` (seconds since the epoch)."""
    return sum((_counts(suite) for suite in _suites(folder, since)), Counts())


def times(folder: Path, since: float = 0.0) -> list[CaseTime]:
    """The time of each test in the JUnit XML files below a folder that were written after `since`."""
    return [
        CaseTime(f"{case.classname or suite.name}.{case.name}", float(case.time or 0.0))
        for suite in _suites(folder, since)
        for case in suite
        if isinstance(case, TestCase)
    ]


def _suites(folder: Path, since: float) -> Iterator[TestSuite]:
    for file in sorted(folder.rglob("*.xml")):
        # `latest` links of ducktape lead to the same files once more.
        if file.stat().st_mtime >= since and file.resolve() == folder.resolve() / file.relative_to(folder):
            try:
                found = JUnitXml.fromfile(str(file))
            except JUnitXmlError:
                continue  # XML of another kind
            except ParseError as e:
                raise RackspanError(
                    f"cannot read the test results {file}", observed=str(e), do="run the stage that wrote them again"
                ) from e
            yield from [found] if isinstance(found, TestSuite) else found


def _counts(suite: TestSuite) -> Counts:
    bad, skipped = (suite.failures or 0) + (suite.errors or 0), suite.skipped or 0
    return Counts((suite.tests or 0) - bad - skipped, bad, skipped)
