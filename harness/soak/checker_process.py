"""The checker as a resident process that evaluates run after run: its start takes longer than a check."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.common.errors import RackspanError
from harness.common.paths import project_root


class CheckerProcess:
    """Evaluates run folders one at a time; leaves check.json and check.html in `out`. Ends with its `with` block."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._reported = out / "check.log"

    def __enter__(self) -> Self:
        self._out.mkdir(parents=True, exist_ok=True)
        with self._reported.open("w", encoding="utf-8") as reported:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "spark_analysis", "check", "--out", str(self._out)],
                cwd=project_root(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=reported,
                text=True,
            )
        return self

    def verdict(self, run: Path) -> dict[str, Any]:
        """The verdict on one run, without its anomalies' histories. Raises RackspanError."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(f"{run.resolve()}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RackspanError(
                f"the checker ended before it had evaluated {run.name}",
                observed="\n".join(self._reported.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]),
                do=f"evaluate it by hand: python -m spark_analysis check {run} --out DIR",
            )
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise RackspanError(
                f"{run.name} could not be checked",
                observed=found["error"],
                do=f"see {self._reported}, and whether the run folder is complete",
            )
        return found

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        if error is not None:
            self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
