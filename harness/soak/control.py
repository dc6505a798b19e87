"""The positive control: a story that must lose records where racks are not protected, and must not where they are.

Rack b falls out of sync, rack a goes on alone and then loses its power, b comes back first (derived from how the
eligible leader replicas are kept; see docs/durability.md).
"""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

from harness.cluster import KafkaCluster
from harness.faults.power import rack_power_cut
from harness.faults.unflushed import Tail
from harness.progress import Progress
from harness.soak.act import Stage, frozen_out
from harness.soak.cycle import run_cycle
from harness.spec import ClusterSpec, parse
from harness.wait import pause

_TAILS: tuple[Tail, ...] = ("none", "torn", "zeros")
HEAP = {"broker": "256m", "controller": "128m"}


def control_spec(distribution: str) -> ClusterSpec:
    """Two racks of two brokers, the controller in a place of its own."""
    racks = {"q": 0, "a": 2, "b": 2}
    data = {"name": f"control-{distribution}", "distribution": distribution, "racks": racks, "controllers": 1}
    return parse({**data, "heap": HEAP, "metrics": False})


def run_control(runs: Path, distribution: str, *, seed: int, progress: Progress | None = None) -> Path:
    """Plays it on a cluster of that distribution, with min.insync.racks=2 where it has that; returns the run folder."""
    rng = random.Random(f"control/{seed}")
    tail, alone = rng.choice(_TAILS), rng.uniform(2.0, 4.0)

    def story(stage: Stage) -> None:
        with contextlib.ExitStack() as cut:
            with frozen_out(stage, "b"):
                pause(alone)
                cut.enter_context(rack_power_cut(stage.cluster, "a", tail=tail, events=stage.run))
            pause(3)

    with KafkaCluster.running(control_spec(distribution), progress=progress) as cluster:
        return run_cycle(
            runs,
            f"control-{distribution}",
            cluster,
            story,
            seed=seed,
            assignment=[[1, 3, 2, 4], [2, 4, 1, 3]],
            min_racks=2 if distribution == "rackspan" else 0,
            told={"tail": tail, "alone_seconds": alone},
            progress=progress,
        )
