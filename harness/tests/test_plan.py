"""The plan of a benchmark: written before anything starts, and balanced."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.benchmark.earlier_runs import earlier_runs
from harness.benchmark.plan import fault_first, order, planned, take_turns
from harness.benchmark.run import run_bench
from harness.benchmark.stalls import due, stall_seed
from harness.benchmark.workload import Blocks, Stalls
from harness.common.errors import RackspanError
from harness.run_folder.run_folder import RunFolder
from harness.tests.test_workload import GOOD, made


def test_every_round_has_every_mode_in_the_reverse_order_of_the_one_before() -> None:
    rows = order(6, 4, seed=7)
    assert all(sorted(row) == [0, 1, 2, 3] for row in rows)
    assert all(rows[i] == rows[i + 1][::-1] for i in (0, 2, 4))
    assert len({tuple(row) for row in rows}) > 2, "not always the same order"
    assert rows == order(6, 4, seed=7) and any(rows != order(6, 4, seed=s) for s in (8, 9, 10))


@pytest.mark.parametrize(("spoilt", "rounds"), [([], 3), ([0, 1], 4), ([0, 5], 5), (range(99), 5)])
def test_a_round_with_an_invalid_block_is_repeated(spoilt: Sequence[int], rounds: int) -> None:
    blocks: list[tuple[int, int, int]] = []

    def turn(block: int, number: int, mode: int) -> list[str]:
        blocks.append((block, number, mode))
        return ["spoilt"] if block in spoilt else []

    take_turns(Blocks(rounds=3, spare=2), 2, 7, turn)  # type: ignore[call-arg]
    assert [(block, number) for block, number, _ in blocks] == [(n, n // 2) for n in range(2 * rounds)]
    assert [mode for _, _, mode in blocks] == list(chain.from_iterable(order(rounds, 2, seed=7)))


@pytest.mark.parametrize("seed", [3, 4])
def test_half_of_the_rounds_have_their_fault_before_the_quiet_part(seed: int) -> None:
    first = [n for n in range(10) if fault_first(n, seed)]
    assert len(first) == 5 and all(b - a == 2 for a, b in pairwise(first))
    assert planned(made(), seed, [])["fault_first"][:2] == first[:2] and fault_first(0, 3) != fault_first(0, 4)
    assert planned(made(fault=None), seed, [])["fault_first"] == []


def test_a_plan_names_rounds_modes_order_and_endpoints() -> None:
    plan = planned(made(blocks={"rounds": 3, "spare": 1}), 7, [])
    assert (plan["rounds"], plan["spare"], plan["seed"], plan["parts"]) == (3, 1, 7, ["quiet", "fault"])
    assert [m["role"] for m in plan["modes"]] == ["candidate", "baseline"]
    assert plan["order"] == [[["new", "old"][mode] for mode in row] for row in order(4, 2, 7)]
    assert {(e["part"], e["per_thousand"]) for e in plan["endpoints"]} == {
        (part, q) for part in ("quiet", "fault") for q in (500, 990)
    }
    assert {(e["mode"], e["against"]) for e in plan["endpoints"]} == {("candidate", "baseline")}


def test_the_plan_is_in_the_run_folder_before_a_cluster_starts(tmp_path: Path) -> None:
    modes = [{**mode, "distribution": "/nowhere"} for mode in GOOD["modes"]]
    workload = made(modes=modes)
    for rounds in (2, 5):
        with pytest.raises(RackspanError, match="/nowhere"):
            run_bench(tmp_path, workload.changed(rounds=rounds, seconds=None, warmup=None), seed=11)
    first, second = (json.loads((path / "manifest.json").read_text()) for path in sorted(tmp_path.iterdir()))
    assert (first["state"], first["plan"]["rounds"], first["plan"]["seed"]) == ("failed", 2, 11)
    assert first["plan"]["earlier"] == []
    assert second["plan"]["earlier"] == [{"run": first["run_id"], "state": "failed", "rounds": 2}], "it is a new run"


def test_trials_of_one_campaign_and_other_runs_are_not_earlier_runs(tmp_path: Path) -> None:
    def run(name: str, kind: str = "bench", **spec: Any) -> str:
        with RunFolder.create(tmp_path, name, kind=kind, spec=spec) as folder:
            return folder.path.name

    run("bench-mine", campaign={"id": "now"})
    run("bench-other")
    run("bench-mine", kind="other")
    before = run("bench-mine", campaign={"id": "before"}, workload={"blocks": {"rounds": 10}})
    for name, damaged in (
        ("cut", "{"),
        ("list", "[]"),
        ("words", '{"kind": "bench", "name": "bench-mine", "spec": "x"}'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(damaged)
    found = earlier_runs(tmp_path, "bench-mine", "now")
    assert found == [{"run": before, "state": "finished", "rounds": 10}]
    assert len(earlier_runs(tmp_path, "bench-mine", "")) == 2 and earlier_runs(tmp_path / "none", "x", "") == []


def test_all_modes_of_a_round_meet_the_same_stalls() -> None:
    stalls = Stalls(nodes=["b1", "c1"], seconds=0.05, every=1.6)

    def drawn(pair: int, node: str, part: str = "quiet") -> list[float]:
        return list(islice(due(stalls, stall_seed(7, pair, part), node), 500))

    assert drawn(0, "b1") == drawn(0, "b1"), "the seed of a round does not depend on the block"
    assert drawn(0, "b1") != drawn(1, "b1") and drawn(0, "b1") != drawn(0, "c1")
    gaps = [b - a - stalls.seconds for a, b in pairwise(drawn(2, "b1"))]
    assert min(gaps) > 0 and sum(gaps) / len(gaps) == pytest.approx(1.6, rel=0.2)
