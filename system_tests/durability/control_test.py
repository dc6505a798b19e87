"""What the checker is for: acknowledged records that a power cut takes, and clusters that it takes none from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.services.logs import Allowed
from harness.soak.control import run_control
from harness.soak.judge import Judge
from system_tests.lib import expect
from system_tests.lib.base import RackTest

# The controller is alone in rack c: it must outlive both others.
RACKS = "c:0,a:2,b:2"
SEED = 1

TORN = Allowed(
    r"Error processing (append|fetch).*operation on partition ",
    "while leaders change and logs are cut, requests fail that the test does not look at",
)


class Durability(RackTest):
    """Racks that lose their power; every replica is read from start to end, and judged."""

    def test_unprotected_racks_lose_records(self) -> None:
        """The positive control: without min.insync.racks the story loses records, and the checker lists them."""
        with self.racks(self.spec(RACKS, distribution="stock"), [expect.REPLICAS_REFUSED, TORN]) as kafka:
            run = run_control(self.folder / "runs", kafka.kafka, seed=SEED, min_racks=0)
        verdict = self.judge(run)
        assert verdict["verdict"] == "anomalies", verdict
        assert verdict["counts"]["lost-write"] > 0, verdict

    def test_protected_racks_refuse_and_lose_nothing(self) -> None:
        """Same story, same seed, with min.insync.racks: refused instead, none lost, though rack a has the replicas."""
        with self.racks(self.spec(RACKS), [expect.REPLICAS_REFUSED, TORN]) as kafka:
            run = run_control(self.folder / "runs", kafka.kafka, seed=SEED, min_racks=2)
        verdict = self.judge(run)
        assert verdict["verdict"] == "ok", verdict
        assert verdict["totals"]["acknowledged"] > 200 and verdict["totals"]["refused"] > 0, verdict

    def judge(self, run: Path) -> dict[str, Any]:
        """The checker's verdict; its page is left in the test's folder."""
        with Judge(self.folder / "check") as judge:
            verdict = judge.verdict(run)
        assert min(verdict["totals"][name] for name in ("polled", "watermarks")) > 0, f"nothing was observed: {verdict}"
        return verdict
