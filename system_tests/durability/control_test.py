"""The positive control: a power cut that loses acknowledged records on stock, and none with min.insync.racks."""

from __future__ import annotations

from pathlib import Path

from harness.recording.log_errors import Allowed
from harness.soak.checker_process import CheckerProcess
from harness.soak.positive_control import run_control
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
    """Racks that lose their power; every replica is read from start to end, and evaluated."""

    def test_unprotected_racks_lose_records_protected_ones_refuse_them(self) -> None:
        """The positive control: without min.insync.racks the story loses records, and the checker lists them.

        Same story, same seed, with min.insync.racks: refused instead, no loss, though rack a has the replicas.
        """
        lost = self.play("stock", min_racks=0)
        kept = self.play("", min_racks=2)
        with CheckerProcess(self.folder / "check") as evaluate:  # one for both: it starts Spark
            stock, ours = evaluate.verdict(lost), evaluate.verdict(kept)
        for verdict in (stock, ours):
            observed = min(verdict["totals"][name] for name in ("polled", "watermarks"))
            assert observed > 0, f"nothing was observed: {verdict}"
        assert stock["verdict"] == "anomalies", stock
        assert stock["counts"]["lost-write"] > 0, stock
        assert not ours["counts"] and not ours["unread"], ours
        assert ours["exposure"]["ack-under-racks"] > 0, f"no acknowledgement was tried in one rack: {ours}"
        assert ours["totals"]["acknowledged"] > 200 and ours["totals"]["refused"] > 0, ours

    def play(self, distribution: str, min_racks: int) -> Path:
        """The run of the story on a cluster of its own."""
        spec = self.spec(RACKS, distribution=distribution)
        with self.racks(spec, [expect.REPLICAS_REFUSED, TORN], shared=False) as kafka:
            return run_control(self.folder / "runs", kafka.kafka, seed=SEED, min_racks=min_racks)
