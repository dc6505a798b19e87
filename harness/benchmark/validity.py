"""The validity of blocks: which ones say something of the machine rather than of Kafka. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.benchmark.workload import Limits, Workload


def saturated(limits: Limits, observed: Mapping[str, Any]) -> str:
    """The way in which a mode saturated the machine by itself: its own client and brokers alone are beyond the limit.
    Empty if it did not.

    Such a block is not invalid: it is the slowest result that a mode can have.
    """
    own = observed.get("cpu_own")
    if own is None or own <= limits.cpu_busy:
        return ""
    return f"its own client and brokers kept the processors {own:.0%} busy"


def reasons(workload: Workload, observed: Mapping[str, Any]) -> list[str]:
    """The reasons why a part of a block does not count. Lateness of its records is evaluated apart: see `late`.

    `observed` has cpu_busy and steal (shares of the processors' time), cpu_own where it is known, rtt_off (share) where
    delays are requested, isr and replicas (brokers) in a part with a fault, stalls where followers are to be stalled,
    rate and beyond in a step of a ramp.
    """
    limits, found = workload.limits, []
    if observed["cpu_busy"] > limits.cpu_busy and not saturated(limits, observed):
        found.append(f"the processors were {observed['cpu_busy']:.0%} busy")
    if observed["steal"] > limits.steal:
        found.append(f"{observed['steal']:.0%} of the processors' time was taken away")
    if observed.get("rtt_off", 0) > limits.rtt_off:
        found.append(f"round-trip times between racks were off by up to {observed['rtt_off']:.0%}")
    paused = workload.fault is not None and workload.fault.how == "pause" and "isr" in observed
    if paused and observed["isr"] < observed["replicas"]:
        found.append(f"the paused follower left the in-sync set: {observed['isr']} in sync at the end")
    if workload.stalls is not None and observed["stalls"] == 0:
        found.append("no follower was stalled")
    # Every mode can do the lowest rate: a machine that cannot does not show where a mode ends.
    if workload.ramp is not None and observed.get("beyond") and observed["rate"] == workload.ramp.rates[0]:
        found.append(f"the first rate was too much already: {observed['beyond']}")
    return found


def late(workload: Workload, observed: Mapping[str, Any]) -> list[str]:
    """Reasons why the analysis will find the load client late, from what it reported (`lag_p99_us`)."""
    if workload.ramp is not None or saturated(workload.limits, observed):
        return []
    found = too_late(workload.limits, observed["lag_p99_us"])
    return [found] if found else []


def too_late(limits: Limits, lag_us: float | None) -> str:
    """The lateness of the load client (p99), where that is beyond the limit; else empty."""
    if lag_us is None or lag_us / 1000 <= limits.send_lag_p99_ms:
        return ""
    return f"the load client was late: send lag p99 {lag_us / 1000:,.1f} ms"
