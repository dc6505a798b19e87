"""python -m spark_analysis.benchmarks.checker --records 1e6 1e7: time and memory of the checker.

Each size runs in a process and a Spark of its own with the memory given. Rows are those read: for each record one of
its producer, one of its consumer and one of each of three replicas. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from spark_analysis.benchmarks.histories import NODES, write_history
from spark_analysis.report import markdown_table

COLUMNS = ("records", "rows read", "Parquet", "time", "processor time", "a million records", "highest memory", "found")


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 if a check failed to find exactly what was planted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", nargs="+", default=["1e6"], help="acknowledged records, e.g. 1e6 1e7")
    parser.add_argument("--memory", default="2g", help="memory of Spark (spark.driver.memory); default: 2g")
    parser.add_argument(
        "--scratch", type=Path, help="folder for the histories and for data that Spark spills; default: a temporary one"
    )
    parser.add_argument("--master", default=None, help="Spark master; default: that of a check")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    print(markdown_table.head(COLUMNS), flush=True)
    right = True
    for text in chosen.records:
        with tempfile.TemporaryDirectory(dir=chosen.scratch) as scratch:
            right &= one(Path(scratch), int(float(text)), chosen.memory, chosen.seed, chosen.master)
    return 0 if right else 1


def one(scratch: Path, records: int, memory: str, seed: int, master: str | None) -> bool:
    """Makes and checks one history, and prints its row."""
    run = scratch / f"scale-{records}"
    planted = write_history(run, records, seed)
    disk = sum(f.stat().st_size for f in run.glob("*/*"))
    (scratch / "spill").mkdir()
    more = {
        "SPARK_LOCAL_DIRS": str(scratch / "spill"),
        "PYSPARK_SUBMIT_ARGS": f"--driver-memory {memory} pyspark-shell",
    }
    command = [sys.executable, "-m", "spark_analysis", "check", str(run), "--out", str(scratch / "out")]
    command += ["--master", master] if master else []
    began = time.monotonic()
    highest = 0.0
    spent: dict[int, float] = {}
    with subprocess.Popen(command, env=os.environ | more, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            tree = list(_tree(process.pid))
            highest = max(highest, sum(map(_gigabytes, tree)))
            spent |= {pid: _processor_seconds(pid) or spent.get(pid, 0.0) for pid in tree}
            time.sleep(0.2)
        out = process.stdout.read() if process.stdout else ""
    seconds = time.monotonic() - began
    verdict = json.loads(out.splitlines()[-1]) if out else {"counts": f"exit code {process.returncode}"}
    rows = records * (2 + len(NODES))
    total = sum(spent.values())
    cells = [f"{records:,}", f"{rows:,}", f"{disk / 2**30:.2f} GiB", f"{seconds:.0f} s", f"{total:.1f} s"]
    cells += [f"{total / records * 1e6:.1f} s", f"{highest:.1f} GiB", str(verdict["counts"])]
    print(markdown_table.row(cells), flush=True)
    return bool(verdict["counts"] == planted)


def _tree(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from _tree(int(child))
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if thread.name != str(pid):
                for child in (thread / "children").read_text().split():
                    yield from _tree(int(child))


def _gigabytes(pid: int) -> float:
    """Memory of a process, GiB; 0 for one that has just ended. Pages that several share count for each."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (OSError, IndexError):
        return 0.0


def _processor_seconds(pid: int) -> float:
    """Processor time of a process; 0 for one that has just ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


if __name__ == "__main__":
    sys.exit(main())
