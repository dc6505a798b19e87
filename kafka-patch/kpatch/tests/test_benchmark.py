"""JMH's results side by side."""

import json

from kpatch import benchmark


def _row(feature: str, ns: float, memory: float, error: float | str = 1.5) -> dict[str, object]:
    return {
        "benchmark": "io.rackspan.cluster.LeaderBenchmark.append",
        "params": {"replicas": "3", "feature": feature},
        "primaryMetric": {"score": ns, "scoreError": error},
        "secondaryMetrics": {"gc.alloc.rate.norm": {"score": memory, "scoreError": error}},
    }


def test_each_cell_stands_beside_stock() -> None:
    stock = benchmark.parse(json.dumps([_row("off", 1000.0, 500.0)]))
    patched = benchmark.parse(json.dumps([_row("off", 1010.0, 500.0), _row("on", 1100.0, 504.0, "NaN")]))
    assert benchmark.table(stock, patched).splitlines()[2:] == [
        "| LeaderBenchmark.append | 3 | stock | 1000.0 ± 1.5 | 500.0 ± 1.5 | 1.00 | +0.0 |",
        "| LeaderBenchmark.append | 3 | patched, off | 1010.0 ± 1.5 | 500.0 ± 1.5 | 1.01 | +0.0 |",
        "| LeaderBenchmark.append | 3 | patched, on | 1100.0 | 504.0 | 1.10 | +4.0 |",
    ]


def test_what_was_not_measured_on_stock_has_no_row() -> None:
    patched = benchmark.parse(json.dumps([_row("on", 1100.0, 504.0)]))
    assert len(benchmark.table([], patched).splitlines()) == 2
