"""The comparison of cold starts: its table, and a start that fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.benchmark.cold_start import Start, measure, summary
from harness.common.errors import RackspanError
from harness.distribution.locate import Distribution, find


def test_ratios_are_of_starts_of_the_same_round() -> None:
    seconds = {"stock": (4.0, 8.0, 6.0), "rackspan": (4.4, 8.0, 5.4)}
    starts = [Start(v, n, s, 2 * s, 300.0) for v, values in seconds.items() for n, s in enumerate(values)]
    table = summary(starts, {"stock": 100_000_000, "rackspan": 101_000_000})
    assert "| archive, MB | 100.0 | 101.0 | 1.010 |  |" in table
    assert "| start, s | 6.00 | 5.40 | 1.000 | 0.900 to 1.100 |" in table
    assert "| resident memory, MiB | 300.00 | 300.00 | 1.000 | 1.000 to 1.000 |" in table


@pytest.mark.cluster
def test_a_start_is_measured_until_the_broker_is_registered() -> None:
    start = measure(find("stock"), "stock", 3)
    assert start.variant == "stock" and start.round == 3
    assert start.cpu_seconds > 0 and start.seconds > 0
    assert start.resident_mib > 50


@pytest.mark.cluster
def test_a_node_that_ends_while_it_starts_is_reported_with_what_it_wrote(tmp_path: Path) -> None:
    home = tmp_path / "broken"
    (home / "bin").mkdir(parents=True)
    (home / "libs").symlink_to(find("stock").home / "libs")
    (home / "bin" / "kafka-storage.sh").symlink_to("/bin/true")
    script = home / "bin" / "kafka-server-start.sh"
    script.write_text("#!/bin/sh\necho no room left\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(RackspanError, match="the node ended while it started") as raised:
        measure(Distribution(home), "broken", 0)
    assert raised.value.observed == "no room left"
    shutil.rmtree(home)
