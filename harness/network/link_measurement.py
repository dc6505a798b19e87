"""Round-trip times between racks: measured from host to host, and tuned to what is requested."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.common.errors import environment_error
from harness.common.wait import pause
from harness.hosts.host import Host
from harness.spec.links import LinkState, Pair
from harness.spec.topology import Node, Plan

TOLERANCE = 0.10
ROUNDS = 8
Measure = Callable[[], list["LinkMeasurement"]]
ReleaseEarly = Callable[[int], int]
_PROBE = str(Path(__file__).with_name("rtt_probe.py"))
_GOOD = 0.04  # not worth another round
_MORE_TRIES, _PASSES_S = 2, 10  # other load of the machine may pass
_LEAST_SAMPLES, _LONGEST_MS = 5, 2000  # a long link is measured no longer than this, if less often
_SAMPLE_GAP_S = "0.004"


@dataclass(frozen=True)
class LinkMeasurement:
    """Round-trip times between two racks, requested and measured, in ms; None where nothing came back."""

    racks: str
    requested_ms: float
    p25_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    samples: int

    @property
    def off(self) -> float:
        """Share by which the median is off; 0 where no delay is requested."""
        if self.p50_ms is None:
            return 1.0
        return abs(self.p50_ms - self.requested_ms) / self.requested_ms if self.requested_ms else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a run's manifest."""
        return asdict(self)

    def __str__(self) -> str:
        observed = "no answer" if self.p50_ms is None else f"{self.p50_ms:.2f} ms"
        return f"{self.racks} {observed} (requested {self.requested_ms:g} ms)"


def measure(
    state: LinkState, plan: Plan, host: Callable[[Node], Host], samples: int, *, delayed_only: bool = False
) -> list[LinkMeasurement]:
    """Round-trip times, from host to host, of all pairs of racks (or delayed ones) with nodes and without a cut.

    Fewer samples where one takes long.
    """
    first: dict[str, Node] = {}
    for node in plan.nodes:
        if node.name not in state.disconnected and node.name not in state.isolated:
            first.setdefault(node.rack, node)
    pairs = [p for p in state.pairs() if p[0] in first and p[1] in first and not state.is_cut(*p)]
    if delayed_only:
        pairs = [p for p in pairs if not state.link(*p).plain]

    def times_of(pair: Pair) -> list[int]:
        enough = max(_LEAST_SAMPLES, int(_LONGEST_MS / max(state.link(*pair).ms, 1)))
        return _times(host(first[pair[0]]), first[pair[1]], min(samples, enough))

    with ThreadPoolExecutor(max_workers=4) as pool:
        times = list(pool.map(times_of, pairs))
    return [_measurement("-".join(p), state.link(*p).ms, t) for p, t in zip(pairs, times, strict=True)]


def check(tuned: Measure, rounds: int, samples: int) -> list[LinkMeasurement]:
    """Measurements as `tuned` gives them, once every median is within 10 % of what is requested.

    Raises RackspanError (exit code 4): a machine that cannot hold the delays must not give numbers.
    """
    best = tuned()
    for _ in range(_MORE_TRIES):
        if _worst(best) <= TOLERANCE:
            break
        pause(_PASSES_S)
        best = tuned()
    wrong = [str(s) for s in best if s.off > TOLERANCE]
    if wrong:
        raise environment_error(
            "the delays between racks are not what was requested",
            observed=f"{', '.join(wrong)} at best in {rounds} rounds of {samples} samples, {_MORE_TRIES + 1} times",
            do="give the machine less other work, or request longer delays",
        )
    return best


def tune(measured: Measure, early_ns: int, release_early: ReleaseEarly, rounds: int) -> list[LinkMeasurement]:
    """Measurements at their best of so many rounds at most. Between rounds packets are released earlier or later, as
    this machine wakes now: `early_ns` is by how much at first, `release_early` changes it and returns what is in force.

    Stops when the worst is within 4 %.
    """
    best: list[LinkMeasurement] = []
    current = kept = early_ns
    for number in range(rounds):
        observed = measured()
        if not best or _worst(observed) < _worst(best):
            best, kept = observed, current
        if _worst(best) <= _GOOD or (number >= 2 and _worst(best) <= TOLERANCE):
            break
        current = release_early(current + _late(observed))
    if current != kept:
        release_early(kept)
    return best


def _times(source: Host, target: Node, samples: int) -> list[int]:
    out = source.run([sys.executable, "-I", "-S", _PROBE, target.address, str(samples), _SAMPLE_GAP_S])
    times: list[int] = json.loads(out)
    return times


def _worst(observed: Sequence[LinkMeasurement]) -> float:
    return max((s.off for s in observed), default=0.0)


def _late(observed: Sequence[LinkMeasurement]) -> int:
    """Nanoseconds that packets are late each way, as far as they always are: a busy machine's bad moments cannot
    be made up for.
    """
    late = [s.p25_ms - s.requested_ms for s in observed if s.requested_ms and s.p25_ms is not None]
    return round(statistics.median(late) * 5e5) if late else 0


def _measurement(racks: str, requested: float, times: Sequence[int]) -> LinkMeasurement:
    back = sorted(t / 1000 for t in times if t >= 0)
    if not back:
        return LinkMeasurement(racks, requested, None, None, None, None, len(times))
    p25, p50, p90, p99 = (back[round(q * (len(back) - 1))] for q in (0.25, 0.5, 0.9, 0.99))
    return LinkMeasurement(racks, requested, p25, p50, p90, p99, len(times))
