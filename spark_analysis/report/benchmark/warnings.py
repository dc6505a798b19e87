"""Warnings of a benchmark: blocks that do not count, differences from the plan, errors of the ideal, a busy machine."""

from __future__ import annotations

from typing import Any

from spark_analysis.report import words
from spark_analysis.report.benchmark import plan
from spark_analysis.report.benchmark.oracle import early


def bench_warnings(name: str, data: dict[str, Any]) -> list[str]:
    """One sentence each, the name of the run in front."""
    found = [*_blocks(data), *(f"{sentence}." for sentence in plan.sentences(data["plan"]))]
    modes = data["oracle"]["modes"] if data["oracle"] else []
    found += [f"{text}: the ideal is wrong there." for mode in modes if (text := early(mode))]
    if data["cpu_busy"] is not None and data["cpu_busy"] >= words.SATURATED:
        found.append(words.machine(data))
    return [f"{name}: {sentence}" for sentence in found]


def _blocks(data: dict[str, Any]) -> list[str]:
    """Invalid parts with the first reason, and by mode; modes that saturated the machine by themselves."""
    invalid, total, out = data["invalid"], len(data["blocks"]), []
    if invalid:
        first = invalid[0]["invalid"][0]
        of = [(row["invalid"] - row["missing"], row["ran"] - row["missing"], row["mode"]) for row in data["selected"]]
        by_mode = [f"{bad} of {ran} of {mode}" for bad, ran, mode in of if bad]
        out.append(
            f"{len(invalid)} of {total} measured parts of blocks are invalid and skipped ({', '.join(by_mode)}); "
            f"the first: {first}."
        )
    for row in data["selected"]:
        if row["missing"]:
            out.append(
                f"{row['mode']} has no block in {row['missing']} of {row['ran']} rounds, which count as invalid."
            )
        if row["saturated"]:
            blocks = f"{row['saturated']} of {row['ran']} blocks"
            out.append(f"{row['mode']} saturated the machine by itself in {blocks}, which count as the slowest.")
    return out
