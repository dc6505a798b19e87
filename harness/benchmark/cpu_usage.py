"""The load of this machine's processors between two moments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_IDLE, _WAITING, _STOLEN = 3, 4, 7


@dataclass(frozen=True)
class CpuTicks:
    """Clock ticks of all processors since the machine started."""

    busy: int
    stolen: int
    all: int

    @classmethod
    def now(cls) -> CpuTicks:
        """Reads the kernel's counters."""
        return cls.parse(Path("/proc/stat").read_text(encoding="ascii"))

    @classmethod
    def parse(cls, stat: str) -> CpuTicks:
        """Takes them from the text of /proc/stat."""
        values = [int(v) for v in stat.splitlines()[0].split()[1:9]]
        return cls(sum(values) - values[_IDLE] - values[_WAITING], values[_STOLEN], sum(values))

    def until(self, later: CpuTicks) -> dict[str, float]:
        """Shares of the time between two readings, 0 to 1: in use, and taken away by the machine's host.

        Near 1 in use, the machine rather than Kafka decides the latency.
        """
        span = max(1, later.all - self.all)
        return {
            "cpu_busy": round((later.busy - self.busy) / span, 3),
            "steal": round((later.stolen - self.stolen) / span, 3),
        }
