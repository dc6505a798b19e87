"""Time and memory of the analysis by records: python -m spark_analysis.benchmarks.latency --records 1e6 2e7 1e8.

For each number of records a run folder of a benchmark is made (ten rounds of two modes, latencies of a lognormal body
with a heavy tail). Measured is the time from a started session to all quantiles, intervals and verdicts, computed as
`report` does. `--counts` makes histogram rows in place of records, as long campaigns keep them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from spark_analysis.input import schemas
from spark_analysis.input.folders import read_folder
from spark_analysis.locations import remove
from spark_analysis.report import markdown_table
from spark_analysis.report.run_part import part_of
from spark_analysis.session import session
from spark_analysis.statistics import histograms

ROUNDS, STEP_NS, START_NS = 10, 50_000, 1_800_000_000_000_000_000
MODES = [
    {"name": "minisr", "role": "candidate", "acks": "min.insync.replicas", "label": "acks=min.insync.replicas"},
    {"name": "all", "role": "baseline", "acks": "all", "label": "acks=all"},
]
BYTES_A_RECORD = 30  # of Parquet, roughly
_CLOCK = {"epoch_ns": START_NS, "mono_ns": 0}
# Latency of the baseline over that of the candidate: the analysis must find its inverse.
FACTOR = 2.0
_ARROW = {"string": pa.string(), "int32": pa.int32(), "int64": pa.int64()}


def make(path: Path, records: int, *, counted: bool = False, seed: int = 1) -> Path:
    """A run folder with about that many records, in blocks of equal size."""
    each = max(1, records // (ROUNDS * len(MODES)))
    for table in ("acks", "reads", "metrics", "fetches", histograms.TABLE):
        (path / table).mkdir(parents=True)
    events: list[dict[str, Any]] = []
    for block, mode, pair in _blocks():
        begin = START_NS + block * each * STEP_NS
        took = latencies(each, FACTOR if mode["role"] == "baseline" else 1.0, seed + block)
        data = {"block": block, "pair": pair, "mode": mode["label"], "role": mode["role"], "producer": mode["name"]}
        for state, at in (("begin", begin), ("end", begin + each * STEP_NS)):
            ended = {**data, "part": "quiet", **({"invalid": []} if state == "end" else {})}
            moment = {"t_ns": at, "mono_ns": at - START_NS}
            events.append({**moment, "kind": "phase", "name": "block", "state": state, "data": ended})
        table, rows = (histograms.TABLE, _counts(took, block, mode)) if counted else ("acks", _acks(took, begin, mode))
        pq.write_table(rows, path / table / f"{mode['name']}-{block:04d}.parquet")
    (path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    (path / "manifest.json").write_text(json.dumps(_manifest(path.name)))
    return path


def latencies(records: int, factor: float, seed: int) -> NDArray[np.int64]:
    """Microseconds: a lognormal body, and one record in two hundred with a Pareto tail."""
    chance = np.random.default_rng(seed)
    body = chance.lognormal(8, 0.4, records)
    stalls = np.where(chance.random(records) < 0.005, 5000 * chance.pareto(2, records), 0)
    return np.asarray(factor * (body + stalls), dtype=np.int64)


def _blocks() -> Iterator[tuple[int, dict[str, str], int]]:
    block = 0
    for pair in range(ROUNDS):
        for mode in MODES if pair % 2 == 0 else MODES[::-1]:
            yield block, mode, pair
            block += 1


def _acks(took: NDArray[np.int64], begin: int, mode: dict[str, str]) -> pa.Table:
    number = np.arange(len(took), dtype=np.int64)
    due = begin + number * STEP_NS
    text = {"producer": mode["name"], "topic": mode["name"], "result": "OK", "cause": ""}
    columns: dict[str, Any] = {
        **{
            name: pa.DictionaryArray.from_arrays(np.zeros(len(took), np.int32), [value]) for name, value in text.items()
        },
        **{"seq": due // STEP_NS, "partition": np.zeros(len(took), np.int32), "offset": number},
        **{"due_ns": due, "sent_ns": due + 50_000, "done_ns": due + took * 1000, "due_mono_ns": due - START_NS},
    }
    schema = _schema("acks")
    return pa.table({field.name: pa.array(columns[field.name]).cast(field.type) for field in schema}, schema)


def _counts(took: NDArray[np.int64], block: int, mode: dict[str, str]) -> pa.Table:
    width = 2 ** np.maximum(np.floor(np.log2(np.maximum(took, 1))).astype(np.int64) - 10, 0)
    lows, first, times = np.unique(took // width * width, return_index=True, return_counts=True)
    place = {"block": block, "part": "quiet", "producer": mode["name"], "result": "OK", "cause": ""}
    rows = [
        {**place, "measure": "latency", "low_us": int(low), "width_us": int(width[i]), "records": int(n)}
        for low, i, n in zip(lows, first, times, strict=True)
    ]
    lag = {**place, "measure": "send_lag", "result": "", "low_us": 50, "width_us": 1, "records": len(took)}
    return pa.Table.from_pylist([*rows, lag], _schema(histograms.TABLE))


def _schema(table: str) -> pa.Schema:
    return pa.schema([pa.field(f["name"], _ARROW[f["type"]]) for f in schemas.contract()["tables"][table]["fields"]])


def _manifest(name: str) -> dict[str, Any]:
    topic = {"partitions": 1, "replication": 3, "leaders": ["a"], "settings": {"min.insync.racks": "2"}}
    workload = {
        "name": name,
        "about": "Made, not measured.",
        "topic": topic,
        "load": {"rate": 1e9 / STEP_NS, "size": 200},
        "modes": [{**m, "topic": {}} for m in MODES],
        "fault": None,
        "limits": {"send_lag_p99_ms": 10.0, "cpu_busy": 0.9, "steal": 0.05, "rtt_off": 0.1},
    }
    spec = {"workload": workload, "broker_racks": {"1": "a"}, "rtt_ms": {}, "backend": "local"}
    run: dict[str, Any] = {
        "run_id": name,
        "name": name,
        "kind": "bench",
        "state": "finished",
        "spec": spec,
        "seed": 1,
    }
    times = {"schema_version": schemas.version(), "started_ns": START_NS, "ended_ns": 0, "failure": ""}
    return {**run, **times, "clock": _CLOCK, "plan": {}, "versions": {}, "patches": [], "host": {}}


def peak_mb(java_pid: int) -> float:
    """Peak memory of Spark's JVM and this process so far, together."""
    total = 0
    for pid in (java_pid, "self"):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return total / 1024


def main(argv: list[str] | None = None) -> int:
    """Prints one line a number of records: seconds, cost of a record, peak memory, and the ratio found (0.5)."""
    parser = argparse.ArgumentParser(prog="python -m spark_analysis.benchmarks.latency", description=__doc__)
    parser.add_argument("--records", nargs="+", type=float, default=[1e6])
    parser.add_argument("--counts", action="store_true", help="make histogram rows in place of records")
    parser.add_argument("--dir", type=Path, default=None, help="folder for the run folders; default: a temporary one")
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args(argv)
    base = Path(tempfile.mkdtemp(prefix="latency-", dir=options.dir))
    print(markdown_table.head(("records", "kept as", "seconds", "ns a record", "peak MB", "p99 ratio found")))
    try:
        for records in (int(r) for r in options.records):
            folder = read_folder(make(base / f"made-{records}", records, counted=options.counts))
            # One session for all, set up for the largest: a session for small input does not compile its queries.
            spark = session(options.master, int(max(options.records) * BYTES_A_RECORD))
            spark.range(1).count()
            begin = time.monotonic()
            part = part_of(spark, folder).data
            took = time.monotonic() - begin
            pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
            ratio = next((r for r in part["bench"]["ratios"] if r["per_thousand"] == 990), None)
            found = "not carried" if ratio is None else f"{ratio['estimate']:.3f}"
            kept = "counts" if options.counts else "records"
            cost = (f"{took:.1f}", f"{took / records * 1e9:,.0f}", f"{peak_mb(pid):,.0f}")
            print(markdown_table.row((f"{records:,}", kept, *cost, found)), flush=True)
            remove(folder.path)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
