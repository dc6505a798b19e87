"""The benchmark of the latency analysis: kept as records and as counts it finds the ratio that was put in."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_analysis.benchmarks import latency


@pytest.mark.parametrize(("kept", "options"), [("records", []), ("counts", ["--counts"])])
@pytest.mark.variant
def test_the_table_has_time_cost_memory_and_the_ratio_that_was_put_in(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: str, options: list[str]
) -> None:
    assert latency.main(["--records", "1e5", "--dir", str(tmp_path), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    assert len(lines) == 3 and (cells[0], cells[1]) == ("100,000", kept)
    assert float(cells[2]) > 0 and float(cells[3].replace(",", "")) > 0 and float(cells[4].replace(",", "")) > 100
    assert float(cells[5]) == pytest.approx(1 / latency.FACTOR, rel=0.02)
    assert not list(tmp_path.iterdir()), "what was made is gone"
