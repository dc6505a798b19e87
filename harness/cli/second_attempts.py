"""Tests of pytest that passed at their second attempt only, as the log of their stage has them."""

from __future__ import annotations

import re
from pathlib import Path

# A test that fails is tried once more, as one of ducktape is: the machine may be shared. Each such test is named. One
# that has reached its time limit is not: pytest-timeout limits both attempts together, and no longer the second alone.
OPTIONS = ("--reruns", "1", "--rerun-except", r"^Failed: Timeout \(>", "--rerun-show-tracebacks", "-rR")
_SUMMARY = "rerun test summary info"
_LINE = re.compile(r"^(RERUN|PASSED) (\S.*)$", re.MULTILINE)


def flaky(log: Path) -> list[str]:
    """The tests of a log that passed after they had failed, as pytest names them."""
    _, _, summary = log.read_text(encoding="utf-8", errors="replace").partition(_SUMMARY)
    found = _LINE.findall(summary)
    again = {name for word, name in found if word == "RERUN"}
    return [name for word, name in found if word == "PASSED" and name in again]
