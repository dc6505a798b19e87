"""When a block tells of the machine rather than of Kafka, by what the machine itself showed meanwhile. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.benchmark.workload import Limits, Workload


def reasons(workload: Workload, seen: Mapping[str, Any]) -> list[str]:
    """Why a part of a block does not count, in words. How late its records were sent tells each record: see `late`.

    `seen` has cpu_busy and steal (shares of the processors' time), rtt_off (share) where delays are asked for, isr
    (brokers) in a part with a fault, stalls where followers are to be stalled, rate and beyond in a step of a ramp.
    """
    limits, found = workload.limits, []
    if seen["cpu_busy"] > limits.cpu_busy:
        found.append(f"the processors were {seen['cpu_busy']:.0%} busy")
    if seen["steal"] > limits.steal:
        found.append(f"{seen['steal']:.0%} of the processors' time was taken away")
    if seen.get("rtt_off", 0) > limits.rtt_off:
        found.append(f"round-trip times between racks were off by up to {seen['rtt_off']:.0%}")
    frozen = workload.fault is not None and workload.fault.how == "pause" and "isr" in seen
    if frozen and seen["isr"] < workload.topic.replication:
        found.append(f"the frozen follower left the in-sync set: {seen['isr']} in sync at the end")
    if workload.stalls is not None and seen["stalls"] == 0:
        found.append("no follower was stalled")
    # Every mode can do the lowest rate: a machine that cannot says nothing of where a mode ends.
    if workload.ramp is not None and seen.get("beyond") and seen["rate"] == workload.ramp.rates[0]:
        found.append(f"the first rate was too much already: {seen['beyond']}")
    return found


def late(workload: Workload, seen: Mapping[str, Any]) -> list[str]:
    """Whether the analysis is going to find that the load client was late, by what the client told (`lag_p99_us`)."""
    found = "" if workload.ramp is not None else too_late(workload.limits, seen["lag_p99_us"])
    return [found] if found else []


def too_late(limits: Limits, lag_us: float | None) -> str:
    """How late the load client was (p99), where that is beyond the limit; else empty."""
    if lag_us is None or lag_us / 1000 <= limits.send_lag_p99_ms:
        return ""
    return f"the load client was late: send lag p99 {lag_us / 1000:,.1f} ms"
