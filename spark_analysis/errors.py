"""The analysis' own error, in the project's three parts, and its exit codes."""

from __future__ import annotations

OK, FAILED, USAGE, UNKNOWN, ENVIRONMENT, DEFECT = 0, 1, 2, 3, 4, 5


class AnalysisError(Exception):
    """An error of three parts: what failed, what was observed, what to do."""

    def __init__(self, what: str, *, observed: str, do: str, code: int = FAILED) -> None:
        super().__init__(f"{what}\n  observed: {observed}\n  do:       {do}")
        self.what, self.observed, self.do, self.code = what, observed, do, code
