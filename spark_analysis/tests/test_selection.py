"""Invalid blocks by mode, modes that saturate the machine, and a run beside its plan."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from spark_analysis.report import document, render
from spark_analysis.report.benchmark.blocks import selected
from spark_analysis.report.benchmark.knee import knee
from spark_analysis.report.benchmark.plan import against_plan, sentences
from spark_analysis.report.markdown import summary
from spark_analysis.statistics.selection import Selected, not_selected
from spark_analysis.tests import plain_counts
from spark_analysis.tests.generated_bench import MODES, bench_run, measured
from spark_analysis.tests.test_bench_report import goal
from spark_analysis.tests.test_report import Text
from spark_analysis.tests.test_success import KILL, ratio

Invalid = dict[tuple[int, str], list[str] | None]


def invalid(role: str, rounds: set[int]) -> Invalid:
    """The blocks of that role in these rounds, each with a reason."""
    place = [m["role"] for m in MODES].index(role)
    return {
        (4 * r + (place if r % 2 == 0 else 3 - place), role): ["the processors were 95% busy"] for r in sorted(rounds)
    }


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        (((10, 0), (10, 1)), ""),
        (((10, 0), (10, 2)), "0 of 10 blocks invalid with a, 2 of 10 with b"),
        (((10, 4), (10, 4)), ""),
        (((10, 4), (10, 2)), "4 of 10 blocks invalid with a, 2 of 10 with b"),
        (((24, 1), (24, 3)), ""),
        (((24, 1), (24, 4)), "1 of 24 blocks invalid with a, 4 of 24 with b"),
        (((6, 6), (6, 0)), "6 of 6 blocks invalid with a, 0 of 6 with b"),
    ],
)
def test_invalid_blocks_of_two_modes_may_be_apart_by_one_or_a_tenth(
    numbers: tuple[tuple[int, int], ...], reason: str
) -> None:
    assert not_selected(*(Selected(name, *n) for name, n in zip("ab", numbers, strict=True))) == reason


def test_a_mode_that_loses_its_slow_blocks_has_no_verdict(tmp_path: Path) -> None:
    made = invalid("candidate", {0, 2, 5})
    data = measured(tmp_path / "run", rounds=9, rtt_ms={"b": 2.0, "c": 2.0}, invalid=made)
    reason = "not shown: 3 of 9 blocks invalid with acks=min.insync.replicas, 0 of 9 with acks=all"
    assert ratio(data, "candidate")["rounds"] == 6 and ratio(data, "candidate")["verdict"] == reason
    assert goal(data, "P1")["verdict"] == reason == goal(data, "P3")["verdict"]
    assert ratio(data, "least")["verdict"] != reason, "others lost none"
    assert {r["role"]: (r["ran"], r["invalid"]) for r in data["selected"]} == {
        "candidate": (9, 3),
        **dict.fromkeys(["baseline", "control", "least"], (9, 0)),
    }
    assert "candidate" not in {row["role"] for row in data["shift"]}


def test_a_mode_without_any_valid_block_is_not_skipped(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", rtt_ms={"b": 2.0, "c": 2.0}, invalid=invalid("candidate", set(range(6))))
    reason = "not shown: 6 of 6 blocks invalid with acks=min.insync.replicas, 0 of 6 with acks=all"
    assert ratio(data, "candidate")["verdict"] == reason and goal(data, "P1")["verdict"] == reason


def without_blocks(path: Path, role: str, rounds: set[int]) -> Path:
    """The run, in which the blocks of a role never ended in these rounds."""
    events = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    kept = [
        e
        for e in events
        if (e["name"], e["state"], e["data"].get("role")) != ("block", "end", role) or e["data"]["pair"] not in rounds
    ]
    (path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in kept))
    return path


def test_rounds_in_which_a_mode_has_no_block_are_invalid_for_it(tmp_path: Path) -> None:
    path = bench_run(tmp_path / "run", rounds=10, per_block=150, rtt_ms={"b": 2.0, "c": 2.0}, plan={"rounds": 6})
    part = plain_counts.part(without_blocks(path, "candidate", {0, 1, 2, 3}))
    reason = "not shown: 4 of 10 blocks invalid with acks=min.insync.replicas, 0 of 10 with acks=all"
    assert ratio(part["bench"], "candidate")["verdict"] == reason == goal(part["bench"], "P1")["verdict"]
    assert "run: acks=min.insync.replicas has no block in 4 of 10 rounds, which count as invalid." in part["warnings"]


def test_a_missing_block_is_counted_in_each_part_that_the_mode_would_have_had() -> None:
    modes = [{"role": role, "label": role} for role in "abc"]

    def numbers(*blocks: tuple[int, str, str]) -> dict[tuple[str, str], tuple[int, int]]:
        found = [{"pair": n, "role": role, "part": part, "invalid": [], "saturated": ""} for n, role, part in blocks]
        return {key: (of.ran, of.missing) for key, of in selected(found, modes).items() if of.ran == of.invalid + 2}

    faults = [(n, role, part) for n in range(3) for role in "ab" for part in ("quiet", "fault")]
    assert numbers(*faults[:-1]) == {("b", "fault"): (3, 1)}, "the fault part of a block never ended"
    nothing = selected([{"pair": 0, "role": "a", "part": "quiet", "invalid": [], "saturated": ""}], modes)
    assert (nothing["c", "quiet"].ran, nothing["c", "quiet"].invalid) == (1, 1), "a mode without any block"
    steps = [(n, role, f"rate-{r}") for n in range(3) for role, top in (("a", 2), ("b", 3)) for r in range(top)]
    assert numbers(*(s for s in steps if s[:2] != (2, "b"))) == {("b", f"rate-{r}"): (3, 1) for r in range(3)}


def test_an_unbalanced_control_is_no_control(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", rounds=9, rtt_ms={"b": 2.0, "c": 2.0}, invalid=invalid("control", {1, 2, 3}))
    assert ratio(data, "candidate")["verdict"] == "not shown: no control" == goal(data, "P1")["verdict"]


def test_a_mode_that_saturates_the_machine_is_slower_rather_than_invalid(tmp_path: Path) -> None:
    path = bench_run(
        tmp_path / "run",
        rtt_ms={"b": 2.0, "c": 2.0},
        saturated=("candidate", {0, 1, 2, 3, 4, 5}),
        late=(0, "candidate"),
    )
    part = plain_counts.part(path)
    data = part["bench"]
    assert data["invalid"] == [], "neither the processors nor a late client, which follows from them"
    found = ratio(data, "candidate")
    assert (found["estimate"], found["verdict"]) == (math.inf, "regressed")
    assert goal(data, "P1")["verdict"] == "does not meet the floor" == goal(data, "P3")["verdict"]
    saturates = "acks=min.insync.replicas saturated the machine by itself in 6 of 6 blocks, which count as the slowest."
    assert f"run: {saturates}" in part["warnings"]
    made = document.build([part], [])
    assert "saturated" in Text(render.page(made)).text and "| 100.00 % | saturated |" in summary(made)


def test_a_block_that_was_disturbed_from_outside_is_invalid_even_if_its_mode_saturates(tmp_path: Path) -> None:
    made: Invalid = {(0, "candidate"): ["20% of the processors' time was taken away"]}
    data = measured(tmp_path / "run", rounds=7, invalid=made, saturated=("candidate", {0}))
    assert ratio(data, "candidate")["verdict"] == "improved" and ratio(data, "candidate")["rounds"] == 6
    assert [r["saturated"] for r in data["selected"]] == [0, 0, 0, 0]


def test_a_saturated_baseline_loses_and_two_saturated_modes_are_not_compared() -> None:
    both = [Selected(name, 6, 0, frozenset({0, 3})) for name in "ab"]
    assert not_selected(*both) == "a and b saturated the machine by themselves in 2 rounds"
    assert not_selected(both[0], Selected("b", 6, 0, frozenset({1}))) == ""


def test_a_saturated_block_of_a_killed_rack_is_as_silent_as_can_be(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", per_block=100, fault=KILL, saturated=("candidate", set(range(6))))
    assert goal(data, "P5")["verdict"] == "does not meet the floor" and goal(data, "P5")["estimate"] == math.inf


def test_throughput_is_not_compared_where_one_mode_lost_more_steps() -> None:
    found = [
        {"role": role, "pair": r, "part": "rate-1", "mode": role, "invalid": bad and r < 3, "saturated": ""}
        for role, bad in (("baseline", False), ("stock", True))
        for r in range(9)
    ]
    modes = [{"role": role, "label": role} for role in ("baseline", "stock")]
    steps = [
        {**b, "rate": 1.0, "acked_per_s": 100.0, "p99_us": 1.0, "lag_p99_us": 1.0, "beyond": ""}
        for b in found
        if not b["invalid"]
    ]
    data = knee(modes, steps, selected(found, modes), "")
    assert data["over_stock"]["not_shown"] == "not shown: 0 of 9 blocks invalid with baseline, 3 of 9 with stock"


def test_a_run_that_ended_before_its_plan_shows_nothing_and_says_so(tmp_path: Path) -> None:
    path = bench_run(tmp_path / "run", rounds=7, rtt_ms={"b": 2.0, "c": 2.0}, plan={"rounds": 10})
    part = plain_counts.part(path)
    reason = "not shown: the run ended after 7 of its 10 planned rounds"
    assert ratio(part["bench"], "candidate")["verdict"] == reason == goal(part["bench"], "P1")["verdict"]
    assert goal(part["bench"], "P3")["verdict"] == reason
    assert "run: fewer rounds than planned: 7 of 10 ran." in part["warnings"]
    assert (
        "10 rounds and at most 4 more for invalid blocks. 7 ran" in Text(render.page(document.build([part], []))).text
    )


def test_a_run_with_more_rounds_than_its_plan_allows_shows_nothing(tmp_path: Path) -> None:
    data = measured(tmp_path / "run", rounds=9, plan={"rounds": 6, "spare": 2})
    reason = "not shown: 9 rounds ran, the plan has 6 and at most 2 spare ones"
    assert ratio(data, "candidate")["verdict"] == reason


def test_the_endpoints_of_the_plan_are_the_primary_ones(tmp_path: Path) -> None:
    endpoint = {"mode": "candidate", "against": "baseline", "part": "quiet", "per_thousand": 900}
    data = measured(tmp_path / "run", plan={"endpoints": [endpoint]})
    assert {(r["role"], r["per_thousand"]) for r in data["ratios"] if r["primary"]} == {("candidate", 900)}


def block(pair: int, role: str, *, bad: bool = False) -> dict[str, Any]:
    return {"pair": pair, "role": role, "invalid": ["x"] if bad else []}


def test_differences_from_the_plan_and_earlier_runs_are_said() -> None:
    modes = [{"role": role, "label": role.upper()} for role in ("a", "b")]
    plan = {"rounds": 2, "spare": 1, "modes": modes}

    def said(*blocks: dict[str, Any], **changes: Any) -> list[str]:
        return sentences(against_plan({**plan, **changes}, {"modes": modes}, blocks))

    full = [block(r, role) for r in (0, 1) for role in "ab"]
    assert said(*full) == []
    assert said(*full[:3]) == ["fewer rounds than planned: 1 of 2 ran"], "a round without a mode is none"
    lost = "fewer rounds than planned are valid: 1 of the 2 planned, 2 ran"
    assert said(*full[:3], block(1, "b", bad=True)) == [lost]
    more = [*full[:3], block(1, "b", bad=True), block(2, "a"), block(2, "b")]
    assert said(*more) == ["more rounds than planned: 3 ran, 2 were planned, 2 are valid"]
    assert said(*full[::2]) == ["fewer rounds than planned: 0 of 2 ran", "planned modes that never ran: B"]
    begun = [*full, *(block(r, "a") for r in range(2, 8))]
    reason = "not shown: 8 rounds ran, the plan has 2 and at most 1 spare ones"
    assert against_plan(plan, {"modes": modes}, begun)["not_shown"] == reason, "no mode may skip rounds"
    earlier = [{"run": "r1", "state": "finished", "rounds": 1}, {"run": "r2", "state": "failed", "rounds": None}]
    assert said(*full, earlier=earlier) == [
        "a new run with 2 rounds; it continues none of the earlier ones: r1 (1 round), r2 (rounds not recorded)"
    ]


def test_an_older_folder_has_the_plan_of_its_workload_or_none(tmp_path: Path) -> None:
    path = bench_run(tmp_path / "run", rounds=6)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["plan"]
    manifest["schema_version"] = 3
    (path / "manifest.json").write_text(json.dumps(manifest))
    part = plain_counts.part(path)
    assert (part["bench"]["plan"]["planned"], ratio(part["bench"], "candidate")["verdict"]) == (None, "improved")
    workload = {"modes": MODES, "blocks": {"rounds": 8, "spare": 0}}
    assert against_plan({}, workload, [])["not_shown"] == "not shown: the run ended after 0 of its 8 planned rounds"


def test_a_run_that_should_have_a_plan_and_has_none_shows_nothing(tmp_path: Path) -> None:
    path = bench_run(tmp_path / "run", rounds=6)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "plan": {}}))
    data = plain_counts.part(path)["bench"]
    assert ratio(data, "candidate")["verdict"] == "not shown: no plan was written before the run"
    workload = {"modes": MODES, "blocks": {"rounds": 0, "spare": 0}}
    shown = [against_plan({}, workload, [], version)["not_shown"] for version in (0, 3, 4)]
    assert shown == ["", "", "not shown: no plan was written before the run"], "the workload's rounds are no plan"
