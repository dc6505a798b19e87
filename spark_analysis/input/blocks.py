"""The blocks of a benchmark, from the events of its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_analysis.input.clocks import producer_clocks

# The producer whose records, due in a window on its monotonic clock, belong to a mode; numbers of the end event.
COLUMNS = (
    *("run", "producer", "mode", "role", "block", "pair", "begin_mono_ns", "end_mono_ns", "cpu_busy", "part"),
    *("steal", "cpu_own", "isr", "rtt_off", "stalls", "invalid", "saturated", "brokers_cpu_s", "acked"),
)


def finished_blocks(run: str, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """COLUMNS of each part of a block that ended, in the order in which they ended."""
    rows = []
    elsewhere = producer_clocks(events).elsewhere_ahead_ns
    begun: dict[tuple[str, int, str], int] = {}
    for event in events:
        if (event["kind"], event["name"]) != ("phase", "block"):
            continue
        data = {"run": run, "part": "", **event["data"]}
        key = (data["producer"], data["block"], data["part"])
        # Of a client on another machine only the wall clock is the same.
        far = data["producer"] in elsewhere
        at_ns = event["t_ns"] - elsewhere[data["producer"]] if far else event["mono_ns"]
        if event["state"] == "begin":
            begun[key] = at_ns
        elif key in begun:
            data |= {"begin_mono_ns": begun.pop(key), "end_mono_ns": at_ns}
            # Older runs lack some of the columns, none lacks these.
            named = {name: data[name] for name in ("producer", "mode", "role", "block", "pair")}
            rows.append({name: data.get(name) for name in COLUMNS} | named)
    return rows
