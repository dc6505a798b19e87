"""The positive control: a story that must lose records where racks are not protected, and must not where they are.

Rack b falls out of sync, rack a continues alone and then loses its power, b comes back first (derived from how the
eligible leader replicas are kept; see docs/results/durability.md).
"""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

from harness.benchmark.load_clients import resident_of
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.progress import Progress
from harness.common.wait import pause
from harness.faults.power import rack_power_cut
from harness.recording.log_files import Tail
from harness.soak.cycle import run_cycle
from harness.soak.inject import FaultPlace, paused_out

_TAILS: tuple[Tail, ...] = ("none", "torn", "zeros")


def run_control(
    runs: Path,
    cluster: KafkaCluster,
    *,
    seed: int,
    min_racks: int,
    progress: Progress | None = None,
) -> Path:
    """Plays it on a cluster with two brokers in each of racks a and b, and controllers elsewhere; returns the run.

    Two replicas must be in sync, which those of one rack are by themselves. `min_racks` 0 leaves the setting away, as
    the stock distribution has none. How the torn logs end and how long rack a runs alone follow from `seed`.
    Raises RackspanError.
    """
    rng = random.Random(f"control/{seed}")
    tail, alone = rng.choice(_TAILS), rng.uniform(2.0, 4.0)

    def story(place: FaultPlace) -> None:
        with contextlib.ExitStack() as cut:
            with paused_out(place, "b"):
                pause(alone)
                cut.enter_context(rack_power_cut(place.cluster, "a", tail=tail, events=place.run))
            pause(3)

    a, b = ([n.id for n in cluster.plan.brokers if n.rack == rack] for rack in "ab")
    with resident_of(cluster) as resident:
        return run_cycle(
            runs,
            "control",
            cluster,
            resident,
            story,
            seed=seed,
            assignment=[[a[0], b[0], a[1], b[1]], [a[1], b[1], a[0], b[0]]],
            min_racks=min_racks,
            reported={"tail": tail, "alone_seconds": alone},
            progress=progress,
        )
