"""The plan of a run: its rounds, modes and endpoints, written into the run folder before anything starts. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from harness.benchmark.workload import Blocks, Workload

# The quantiles (per thousand) of the candidate that a run is about.
PRIMARY = (500, 990)


def planned(workload: Workload, seed: int, earlier: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The manifest's `plan`; `earlier` are runs of the same benchmark whose results could be known already."""
    parts = ["quiet"] if workload.fault is None else ["quiet", "fault"]
    if workload.ramp is not None:
        parts = [f"rate-{rate:.10g}" for rate in workload.ramp.rates]
    plan, names = workload.blocks, [m.name for m in workload.modes]
    rows = order(plan.rounds + plan.spare, len(names), seed)
    endpoints = [
        {"mode": "candidate", "against": "baseline", "part": part, "per_thousand": q} for part in parts for q in PRIMARY
    ]
    return {
        "rounds": plan.rounds,
        "spare": plan.spare,
        "seed": seed,
        "modes": [{"name": m.name, "role": m.recorded_role, "label": m.shown} for m in workload.modes],
        "parts": parts,
        "endpoints": [] if workload.ramp is not None else endpoints,
        "order": [[names[mode] for mode in row] for row in rows],
        "fault_first": [n for n in range(len(rows)) if fault_first(n, seed)] if workload.fault else [],
        "earlier": list(earlier),
    }


def order(rounds: int, modes: int, seed: int) -> list[list[int]]:
    """The modes of every round in their order: every second round has those of the one before backwards."""
    shuffled = random.Random(seed)
    row = list(range(modes))
    found: list[list[int]] = []
    for number in range(rounds):
        if number % 2 == 0:
            shuffled.shuffle(row)
        found.append(row[:] if number % 2 == 0 else row[::-1])
    return found


def fault_first(number: int, seed: int) -> bool:
    """True if the blocks of a round have their fault before their quiet part: every second round, which by seed."""
    return (number + seed) % 2 == 1


def take_turns(plan: Blocks, modes: int, seed: int, turn: Callable[[int, int, int], list[str]]) -> None:
    """Runs as many rounds as requested, and one more for each with an invalid block, up to the number of spare ones.

    `turn` measures one block (its number, its round, its mode) and returns why it is invalid.
    """
    complete = 0
    for number, row in enumerate(order(plan.rounds + plan.spare, modes, seed)):
        if complete == plan.rounds:
            return
        invalid = [turn(number * modes + place, number, mode) for place, mode in enumerate(row)]
        complete += not any(invalid)
