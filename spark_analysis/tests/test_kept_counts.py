"""Counts beside a page: the page follows from them, and files that are not what was written are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest

from spark_analysis import cli
from spark_analysis.input import kept_counts, programs

# Counts of a benchmark with known answers (generated_bench.py): six rounds, nothing broken, racks 2 ms apart.
KEPT = Path(__file__).parent / "data" / "bench-counts"


def test_figures_follow_from_the_counts(tmp_path: Path) -> None:
    """Records that are counted otherwise give another page: the figures are not copied."""
    kept = kept_counts.read(KEPT)
    (run,) = kept.runs()
    table = run.tables["latencies"]
    doubled = table.set_column(table.column_names.index("value"), "value", pc.multiply(table["value"], 2.0))
    kept_counts.write_run(tmp_path / "kept", kept_counts.RunCounts(run.facts, {**run.tables, "latencies": doubled}))
    kept_counts.write(tmp_path / "counts", {"kept": tmp_path / "kept"}, kept.made)
    for folder, out in ((KEPT, "before"), (tmp_path / "counts", "after")):
        assert cli.main(["recompute", str(folder), "--out", str(tmp_path / out)]) == 0
    before, after = (json.loads((tmp_path / out / "report.json").read_text()) for out in ("before", "after"))
    old, new = (document["runs"][0]["bench"]["pooled"] for document in (before, after))
    assert [row["value_us"] and 2 * row["value_us"] for row in old] == [row["value_us"] for row in new]
    (median,) = [row["value_us"] for row in old if (row["role"], row["per_thousand"]) == ("candidate", 500)]
    assert median == 1224.5, "the near follower takes 1 to 1.249 ms, the answer 0.1 ms more"


def test_gates_are_evaluated_on_a_page_computed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = tmp_path / "gates.yaml"
    gates.write_text("apiVersion: rackspan/v1\ngates:\n  - {name: near, of: ratio, quantile: p50, at_most: 0.3}\n")
    assert cli.main(["recompute", str(KEPT), "--out", str(tmp_path / "out"), "--gate", str(gates)]) == 1
    assert (
        "✗ near (made): 0.353 (0.353 to 0.353), with the noise 0.353 to 0.353, requested: at most 0.3"
        in capsys.readouterr().out
    )


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def altered(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def index_with(**changes: object) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("name", "damage", "code", "said"),
    [
        ("kept/latencies.parquet", cut, 1, "kept/latencies.parquet is not what was written\n  observed: "),
        ("kept/facts.json.gz", altered, 1, "kept/facts.json.gz is not what was written\n  observed: "),
        ("kept/ideal.parquet", Path.unlink, 1, "is not what was written\n  observed: No such file or directory\n"),
        ("counts.json", cut, 1, "counts.json is not what was written\n  observed: "),
        ("counts.json", index_with(made={}), 1, "observed: its digest is not the one that it was written with ("),
        (
            "counts.json",
            index_with(version="1"),
            1,
            "counts.json is not what was written\n  observed: no version in it\n",
        ),
        (
            "counts.json",
            index_with(version=2, program={"version": "9.1"}),
            4,
            "are of a newer version\n  observed: version 2, this program reads up to 1\n"
            "  do:       use Rackspan 9.1, which wrote them\n",
        ),
        (
            "counts.json",
            Path.unlink,
            2,
            "has no counts of a report\n  observed: counts.json: No such file or directory\n",
        ),
    ],
)
def test_damaged_counts_are_refused_with_one_error(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    damage: Callable[[Path], None],
    code: int,
    said: str,
) -> None:
    folder = tmp_path / "counts"
    shutil.copytree(KEPT / "counts", folder)
    damage(folder / name)
    assert cli.main(["recompute", str(folder), "--out", str(tmp_path / "out")]) == code
    err = capsys.readouterr().err
    assert said in err and err.count("observed:") == 1 and str(folder) in err
    assert not (tmp_path / "out").exists()


def test_counts_of_other_programs_are_read_and_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "digest", lambda: "another")
    assert cli.main(["recompute", str(KEPT), "--out", str(tmp_path)]) == 0
    assert "written by other programs (Rackspan 0.1.0): figures may differ" in capsys.readouterr().err
