"""python -m spark_analysis.benchmarks.checker --records 1e6 1e7: time and memory of the checker.

Each size runs in a process and a Spark of its own with the memory given. Rows are those read: for each record one of
its producer, one of its consumer and one of each of three replicas. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from spark_analysis.benchmarks.histories import NODES, write_history
from spark_analysis.report import markdown_table

COLUMNS = ("records", "rows read", "Parquet", "time", "a million rows", "highest memory", "found")


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 if a check failed to find exactly what was planted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", nargs="+", default=["1e6"], help="acknowledged records, e.g. 1e6 1e7")
    parser.add_argument("--memory", default="2g", help="memory of Spark (spark.driver.memory); default: 2g")
    parser.add_argument(
        "--scratch", type=Path, help="folder for the histories and for data that Spark spills; default: a temporary one"
    )
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    print(markdown_table.head(COLUMNS), flush=True)
    right = True
    for text in chosen.records:
        with tempfile.TemporaryDirectory(dir=chosen.scratch) as scratch:
            right &= one(Path(scratch), int(float(text)), chosen.memory, chosen.seed)
    return 0 if right else 1


def one(scratch: Path, records: int, memory: str, seed: int) -> bool:
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
    began = time.monotonic()
    highest = 0.0
    with subprocess.Popen(command, env=os.environ | more, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            highest = max(highest, _gigabytes(process.pid))
            time.sleep(1)
        out = process.stdout.read() if process.stdout else ""
    seconds = time.monotonic() - began
    verdict = json.loads(out.splitlines()[-1]) if out else {"counts": f"exit code {process.returncode}"}
    rows = records * (2 + len(NODES))
    size, each = f"{disk / 2**30:.2f} GiB", f"{seconds / rows * 1e6:.2f} s"
    cells = (f"{records:,}", f"{rows:,}", size, f"{seconds:.0f} s", each, f"{highest:.1f} GiB", str(verdict["counts"]))
    print(markdown_table.row(cells), flush=True)
    return bool(verdict["counts"] == planted)


def _gigabytes(pid: int) -> float:
    """Memory of a process and its children, GiB; 0 for one that has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**30 + sum(_gigabytes(int(child)) for child in children)


if __name__ == "__main__":
    sys.exit(main())
