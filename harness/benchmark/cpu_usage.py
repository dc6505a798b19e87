"""The load of this machine's processors between two moments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_IDLE, _WAITING, _STOLEN = 3, 4, 7
_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTicks:
    """Clock ticks of all processors since the machine started; `own`: those of single processes by pid, where known."""

    busy: int
    stolen: int
    all: int
    own: Mapping[int, int] | None = None

    @classmethod
    def now(cls, pids: Iterable[int] | None = None) -> CpuTicks:
        """Reads the kernel's counters; `pids` are processes of this machine."""
        own = None if pids is None else {pid: ticks for pid in pids if (ticks := _of_process(pid)) is not None}
        return cls.parse(Path("/proc/stat").read_text(encoding="ascii"), own)

    @classmethod
    def parse(cls, stat: str, own: Mapping[int, int] | None = None) -> CpuTicks:
        """Takes them from the text of /proc/stat."""
        values = [int(v) for v in stat.splitlines()[0].split()[1:9]]
        return cls(sum(values) - values[_IDLE] - values[_WAITING], values[_STOLEN], sum(values), own)

    def until(self, later: CpuTicks) -> dict[str, float]:
        """Shares of the time between two readings, 0 to 1: in use, taken away by the machine's host, and in use by the
        processes named, where these are known.

        Near 1 in use, the machine rather than Kafka decides the latency.
        """
        span = max(1, later.all - self.all)
        shares = {
            "cpu_busy": round((later.busy - self.busy) / span, 3),
            "steal": round((later.stolen - self.stolen) / span, 3),
        }
        if self.own is None or later.own is None:
            return shares
        own = sum(max(0, ticks - self.own.get(pid, 0)) for pid, ticks in later.own.items())
        return {**shares, "cpu_own": round(own / span, 3)}

    def seconds_of(self, pids: Iterable[int], later: CpuTicks) -> float | None:
        """Processor time of these processes between two readings, s; None where one of them was not read both times."""
        before, after = self.own or {}, later.own or {}
        wanted = list(pids)
        if any(pid not in before or pid not in after for pid in wanted):
            return None
        return round(sum(after[pid] - before[pid] for pid in wanted) / _PER_SECOND, 2)


def _of_process(pid: int) -> int | None:
    """Ticks of a process and all its threads; None if it has ended."""
    with suppress(psutil.Error):
        used = psutil.Process(pid).cpu_times()
        ticks: int = round((used.user + used.system) * _PER_SECOND)
        return ticks
    return None
