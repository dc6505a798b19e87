"""The comparison as files: Markdown for people, JSON for programs, JUnit XML for the sum of all tests."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from harness.files import write_aside
from harness.upstream.junit import FAILED, PASSED, Outcome
from harness.upstream.verdict import Verdict

COLUMNS = ("CLASS", "TESTS", "STOCK", "PATCHED", "SECONDS", "NOTE")


def row(verdict: Verdict) -> list[str]:
    """One class as the table shows it."""
    seconds = f"{verdict.stock.seconds:.1f} / {verdict.patched.seconds:.1f}"
    tests = str(len(verdict.stock.tests))
    return [verdict.name, tests, _side(verdict.stock), _side(verdict.patched), seconds, verdict.note]


def summary(verdicts: Sequence[Verdict]) -> str:
    """All classes in one sentence."""
    stock, patched = (
        sum(o.count(PASSED) for o in side) for side in ([v.stock for v in verdicts], [v.patched for v in verdicts])
    )
    known, wrong = sum(len(v.known) for v in verdicts), sum(len(v.errors) for v in verdicts)
    open_ = sum(bool(v.trouble) for v in verdicts)
    said = f"{len(verdicts)} classes: {stock} tests pass on stock, {patched} on patched, "
    said += f"{known} known difference(s), {wrong} unexplained"
    return said + (f", {open_} without verdict" if open_ else "")


def write(folder: Path, verdicts: Sequence[Verdict], left_out: dict[str, str]) -> None:
    """Writes upstream.md, upstream.json and junit.xml."""
    lines = [f"| {' | '.join(c.lower() for c in COLUMNS)} |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row(v))} |" for v in verdicts]
    lines += ["", summary(verdicts), *(f"- not run: {name}: {why}" for name, why in left_out.items())]
    write_aside(folder / "upstream.md", "\n".join(lines) + "\n")
    write_aside(folder / "upstream.json", json.dumps(data(verdicts, left_out), indent=2) + "\n")
    write_aside(folder / "junit.xml", _junit(verdicts))


def data(verdicts: Sequence[Verdict], left_out: dict[str, str]) -> dict[str, object]:
    """The table for programs."""
    return {"classes": [_plain(v) for v in verdicts], "left_out": left_out, "summary": summary(verdicts)}


def _plain(verdict: Verdict) -> dict[str, object]:
    sides = {"stock": verdict.stock, "patched": verdict.patched}
    return {
        "class": verdict.name,
        **{
            name: {"passed": o.count(PASSED), "failed": o.count(FAILED), "tests": len(o.tests), "seconds": o.seconds}
            for name, o in sides.items()
        },
        "errors": verdict.errors,
        "known": list(verdict.known),
        "both": list(verdict.both),
        "again": list(verdict.again),
        "trouble": verdict.trouble,
    }


def _side(outcome: Outcome) -> str:
    if outcome.trouble:
        return outcome.trouble
    failed = outcome.count(FAILED)
    return f"{outcome.count(PASSED)}" + (f", {failed} failed" if failed else "")


def _junit(verdicts: Sequence[Verdict]) -> str:
    """A test case a class: it passes if the class does on the patched jars what it does on the official ones."""
    bad = {v.name: "\n".join(v.errors) or v.trouble for v in verdicts if v.errors or v.trouble}
    suite = ElementTree.Element(
        "testsuite", name="upstream's tests", tests=str(len(verdicts)), failures=str(len(bad)), errors="0", skipped="0"
    )
    for v in verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname=v.name, name="same as on stock")
        case.set("time", f"{v.patched.seconds:.3f}")
        if v.name in bad:
            ElementTree.SubElement(case, "failure", message=bad[v.name])
    return ElementTree.tostring(suite, encoding="unicode")
