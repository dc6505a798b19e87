"""Campaign files: the workloads that they run, the changes of a part, and invalid files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.benchmark import campaign, workload
from harness.benchmark.campaign import Outage
from harness.benchmark.workload import Workload
from harness.common.errors import RackspanError
from harness.common.paths import project_root
from harness.tests.test_workload import GOOD


def made(folder: Path, *parts: dict[str, Any], **more: Any) -> str:
    (folder / "mine.yaml").write_text(yaml.safe_dump(GOOD))
    file = folder / "campaign.yaml"
    file.write_text(yaml.safe_dump({"name": "several", "parts": list(parts), **more}))
    return str(file)


@pytest.mark.parametrize("name", workload.shipped())
def test_shipped_campaigns_are_valid_and_have_rounds_for_a_verdict(name: str) -> None:
    found = campaign.load(name)
    assert found.name == name and found == campaign.load(str(project_root() / "campaigns" / f"{name}.yaml"))
    for part in found.parts:
        if isinstance(part, Workload):
            assert part.blocks.rounds >= 6 or found.parts.count(part) >= 6, "rounds, or trials"


def test_near_far_has_near_and_far_racks_a_paused_follower_and_a_killed_rack() -> None:
    parts = {part.name: part for part in campaign.load("near-far").parts if isinstance(part, Workload)}
    assert parts["end-to-end"].consume
    assert parts["racks-2ms"].rtt_ms() == {"b": 2, "c": 2}
    assert parts["unequal-racks"].rtt_ms() == {"b": 2, "c": 20}
    faults = {part.fault.how: part for part in parts.values() if part.fault is not None}
    assert set(faults) == {"pause", "kill"} and faults["kill"].fault.target == "rack:c"  # type: ignore[union-attr]
    paused = faults["pause"]
    assert paused.load.rate * paused.blocks.seconds * paused.blocks.rounds >= 100_000, "a p99.9 needs as many"
    assert {part.cluster.backend for part in parts.values()} == {"netns"}


def test_every_kind_of_campaign_is_shipped() -> None:
    """Equal racks, unequal ones, a paused follower, a killed rack, stalls, an outage, the knee, all levels."""
    assert set(workload.shipped()) >= {"quiet", "near-far", "paused-follower", "rack-killed", "independent-stalls"}
    outage, killed = campaign.load("rack-outage").parts
    assert isinstance(outage, Outage) and isinstance(killed, Workload) and killed.leaders_fail
    short = campaign.load("rack-outage").changed(rounds=2, seconds=3, warmup=1).on("netns").parts[0]
    assert short == Outage(backend="netns", seconds=3)
    stalls = workload.load("independent-stalls")
    assert stalls.load.rate * stalls.blocks.seconds * stalls.blocks.rounds >= 100_000, "a p99.9 needs as many"
    knee = workload.load("knee")
    assert knee.ramp is not None and {m.role for m in knee.modes} >= {"candidate", "baseline", "control", "stock"}
    levels = {
        (m.distribution, m.acks, m.topic.get("min.insync.replicas"), m.topic.get("min.insync.racks"))
        for m in workload.load("levels").modes
    }
    assert levels == {
        ("stock", "1", None, None),
        ("stock", "all", "2", None),
        ("stock", "all", "3", None),
        ("rackspan", "all", "2", "2"),
        ("rackspan", "min.insync.replicas", "2", "2"),
    }


def test_a_part_may_be_run_several_times(tmp_path: Path) -> None:
    parts = campaign.load(made(tmp_path, {"workload": "mine.yaml", "times": 3}, {"scenario": "outage"})).parts
    assert len(parts) == 4 and parts[0] == parts[1] == parts[2] != parts[3]
    with pytest.raises(RackspanError, match="greater than or equal to 1"):
        campaign.load(made(tmp_path, {"workload": "mine.yaml", "times": 0}))


def test_near_far_takes_less_than_an_hour() -> None:
    seconds = 0.0
    for part in campaign.load("near-far").parts:
        assert isinstance(part, Workload)
        fault = 0.0 if part.fault is None else part.blocks.settle + part.fault.seconds + part.fault.recover + 5
        block = part.blocks.settle + part.blocks.seconds + 0.6 + fault  # and the time to control it
        seconds += 35 + part.blocks.warmup + part.blocks.rounds * len(part.modes) * block  # and the start of a cluster
    assert 20 * 60 < seconds < 60 * 60


def test_a_part_changes_only_the_keys_that_it_names(tmp_path: Path) -> None:
    change = {"load": {"rate": 7}, "topic": {"settings": {"x.y": 1}}, "fault": None}
    (part,) = campaign.load(made(tmp_path, {"workload": "mine.yaml", "change": change})).parts
    assert isinstance(part, Workload)
    assert (part.load.rate, part.load.size, part.fault) == (7, 200, None)
    assert part.topic.settings == {"min.insync.racks": "2", "x.y": "1"} and part.topic.partitions == 3


def test_modes_of_a_part_are_chosen_by_name() -> None:
    killed = next(p for p in campaign.load("near-far").parts if p.name == "rack-killed")
    assert isinstance(killed, Workload)
    assert [m.name for m in killed.modes] == ["minisr", "all", "all-again"]


def test_lengths_and_backend_apply_to_every_part(tmp_path: Path) -> None:
    found = campaign.load(made(tmp_path, {"workload": "quiet"}, {"workload": "mine.yaml"}))
    short = found.changed(rounds=2, seconds=3, warmup=1).on("netns")
    for part in short.parts:
        assert isinstance(part, Workload) and part.cluster.backend == "netns"
        assert (part.blocks.rounds, part.blocks.seconds, part.blocks.warmup) == (2, 3, 1)
    with pytest.raises(RackspanError, match="unequal-racks cannot run on the backend local") as caught:
        campaign.load(made(tmp_path, {"workload": "quiet"}, {"workload": "unequal-racks"})).on("local")
    assert caught.value.code == 4


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"workload": "quite"}, "no workload 'quite'; did you mean 'quiet'?"),
        ({"workload": "quite.yaml"}, "No such file"),
        ({"workload": "quiet", "mods": []}, "parts.0: no key 'mods'; did you mean 'modes'?"),
        ({"workload": "quiet", "modes": ["al"]}, "modes: no mode 'al'; did you mean 'all'?"),
        ({"workload": "quiet", "modes": ["all", "one"]}, "exactly one must have the role 'candidate', not 0"),
        ({"workload": "quiet", "change": {"laod": {}}}, "no key 'laod'; did you mean 'load'?"),
        ({"workload": "quiet", "change": {"load": {"rate": 0}}}, "load.rate: Input should be greater than 0"),
        ({"workload": "quiet", "scenario": "outage"}, "give a workload, with modes and change where wanted"),
        ({}, "parts.0: give a workload"),
        ({"workload": "near-far"}, "near-far.yaml is a campaign itself"),
    ],
)
def test_an_invalid_part_is_refused_with_the_reason(tmp_path: Path, part: dict[str, Any], reason: str) -> None:
    file = made(tmp_path, part)
    with pytest.raises(RackspanError) as caught:
        campaign.load(file)
    assert caught.value.code == 2 and reason in str(caught.value)


def test_a_campaign_needs_a_part(tmp_path: Path) -> None:
    with pytest.raises(RackspanError, match="parts: List should have at least 1 item"):
        campaign.load(made(tmp_path))
