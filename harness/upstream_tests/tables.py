"""The comparison as files: Markdown for people, JSON for programs, JUnit XML for the sum of all tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from junitparser import Failure, JUnitXml, TestCase, TestSuite
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.common.atomic_files import write_aside
from harness.common.errors import usage_error
from harness.common.markdown import table
from harness.upstream_tests.comparison import ClassComparison
from harness.upstream_tests.junit import FAILED, PASSED, ClassResult

COLUMNS = ("CLASS", "TESTS", "STOCK", "PATCHED", "SECONDS", "NOTE")


class Count(BaseModel):
    """ClassResult of a class on one variant, in numbers; `failure` if its JVM did not end well."""

    passed: int
    failed: int
    tests: int
    seconds: float
    failure: str = ""

    @classmethod
    def of(cls, outcome: ClassResult) -> Count:
        """The numbers of an outcome."""
        passed, failed = outcome.count(PASSED), outcome.count(FAILED)
        tests, seconds, failure = len(outcome.tests), outcome.seconds, outcome.failure
        return cls(passed=passed, failed=failed, tests=tests, seconds=seconds, failure=failure)

    def __str__(self) -> str:
        return self.failure or f"{self.passed}" + (f", {self.failed} failed" if self.failed else "")


class Row(BaseModel):
    """One class on both variants."""

    model_config = ConfigDict(populate_by_name=True)

    name: str = Field(validation_alias="class", serialization_alias="class")
    stock: Count
    patched: Count
    errors: list[str]
    known: list[str]
    both: list[str]
    again: list[str]
    note: str
    failure: str

    @classmethod
    def of(cls, comparison: ClassComparison) -> Row:
        """A comparison as a row."""
        return cls(
            name=comparison.name,
            stock=Count.of(comparison.stock),
            patched=Count.of(comparison.patched),
            errors=comparison.errors,
            known=list(comparison.known),
            both=list(comparison.both),
            again=list(comparison.again),
            note=comparison.note,
            failure=comparison.failure,
        )

    @property
    def good(self) -> bool:
        """True if nothing is wrong and nothing is open."""
        return not self.errors and not self.failure

    def cells(self) -> list[str]:
        """The row under COLUMNS."""
        seconds = f"{self.stock.seconds:.1f} / {self.patched.seconds:.1f}"
        return [self.name, str(self.stock.tests), str(self.stock), str(self.patched), seconds, self.note]


class Table(BaseModel):
    """Classes by name; `jars`: digest of each variant's class path; `skipped`: name to reason."""

    jars: dict[str, str]
    classes: list[Row]
    skipped: dict[str, str]

    @classmethod
    def read(cls, file: Path) -> Table:
        """Reads an `upstream.json` of an earlier run. Raises RackspanError (usage) for any other file."""
        try:
            return cls.model_validate_json(file.read_text(encoding="utf-8"))
        except ValidationError as e:
            observed = f"{len(e.errors())} errors, the first: {e.errors()[0]['msg']}"
        except (OSError, UnicodeDecodeError) as e:
            observed = str(e)
        do = "name an upstream.json that verify-stock wrote"
        raise usage_error(f"{file} is no table of upstream's tests", observed=observed, do=do)

    def carried(self, jars: dict[str, str], names: Iterable[str]) -> list[Row]:
        """Rows of these classes that need not be run again: nothing was wrong with them, on the very same jars."""
        wanted = set(names)
        return [r for r in self.classes if r.name in wanted and r.good] if self.jars == jars else []

    def summary(self) -> str:
        """All classes in one sentence."""
        stock, patched = (sum(r.stock.passed for r in self.classes), sum(r.patched.passed for r in self.classes))
        known, wrong = sum(len(r.known) for r in self.classes), sum(len(r.errors) for r in self.classes)
        open_ = sum(bool(r.failure) for r in self.classes)
        said = f"{len(self.classes)} classes: {stock} tests pass on stock, {patched} on patched, "
        said += f"{sum(len(r.both) for r in self.classes)} fail on both, "
        said += f"{known} known difference(s), {wrong} unexplained"
        return said + (f", {open_} not compared" if open_ else "")

    def data(self) -> dict[str, Any]:
        """The table for programs."""
        return {**self.model_dump(by_alias=True), "summary": self.summary()}

    def write(self, folder: Path) -> None:
        """Writes upstream.md, upstream.json and junit.xml."""
        classes = table([c.lower() for c in COLUMNS], [r.cells() for r in self.classes], right=range(1, 5))
        lines = [classes, "", self.summary(), *(f"- not run: {name}: {why}" for name, why in self.skipped.items())]
        write_aside(folder / "upstream.md", "\n".join(lines) + "\n")
        write_aside(folder / "upstream.json", json.dumps(self.data(), indent=2) + "\n")
        write_aside(folder / "junit.xml", self._junit())

    def _junit(self) -> str:
        """A test case a class: it passes if the class does on the patched jars what it does on the official ones."""
        suite = TestSuite("upstream's tests")
        suite.add_testcases([_case(row) for row in self.classes])
        report = JUnitXml()
        report.add_testsuite(suite)
        text: bytes = report.tostring()  # type: ignore[no-untyped-call]
        return text.decode()


def _case(row: Row) -> TestCase:
    case = TestCase("same as on stock", row.name, round(row.patched.seconds, 3))
    if not row.good:
        case.result = Failure("\n".join(row.errors) or row.failure)
    return case
