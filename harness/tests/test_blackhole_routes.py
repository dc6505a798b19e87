"""Cuts as routes: which host must not send where. test_backends.py tests the effect of the routes."""

from __future__ import annotations

import subprocess

import pytest

from harness.common.errors import Exit, RackspanError
from harness.hosts.host import Output
from harness.network import blackhole_routes
from harness.spec.cluster_spec import parse
from harness.spec.links import At, LinkState
from harness.spec.topology import plan

PLAN = plan(parse({"name": "r", "racks": "a:2,b:1,c:1", "controllers": 1}))
ADDRESSES = {
    "a1": ["1", "2"],
    "a2": ["3"],
    "b1": ["4", "5"],
    "c1": ["6"],
    "ctrl-1": ["7"],
}  # the controller is in rack a
ALL = LinkState(racks=["a", "b", "c"])


def isolated(**changes: object) -> dict[str, list[str]]:
    found = blackhole_routes.isolated(ALL.model_copy(update=changes), PLAN, ADDRESSES, ["driver"])
    return {node: addresses for node, addresses in found.items() if addresses}


def test_cuts_have_a_direction_and_cover_all_addresses() -> None:
    assert isolated() == {}
    assert isolated(cuts=[("a", "b")]) == {"a1": ["4", "5"], "a2": ["4", "5"], "ctrl-1": ["4", "5"]}
    assert isolated(cuts=[("b", "a"), ("b", "c")]) == {"b1": ["1", "2", "3", "6", "7"]}


def test_a_node_is_cut_off_from_other_racks_or_from_everything() -> None:
    at = At(rack="a", address="3")
    assert isolated(isolated={"a2": at}) == {"a2": ["4", "5", "6"], "b1": ["3"], "c1": ["3"]}
    away = isolated(disconnected=["c1"])
    assert away == {
        "c1": ["1", "2", "3", "4", "5", "7", "driver"],
        **{name: ["6"] for name in ("a1", "a2", "b1", "ctrl-1")},
    }


def test_a_cut_adds_no_route_between_nodes_of_one_machine() -> None:
    shared = {name: ["9"] for name in ADDRESSES}
    assert set(
        map(tuple, blackhole_routes.isolated(ALL.model_copy(update={"cuts": [("a", "b")]}), PLAN, shared).values())
    ) == {()}


def test_a_host_without_the_right_to_change_routes_is_named() -> None:
    def run(name: str, script: str) -> Output:
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return Output(1, "", "sudo: a password is required\n") if name == "b1" else Output(0, "", "")

    with pytest.raises(RackspanError) as e:
        blackhole_routes.enforce({"a1": ["1"], "b1": []}, run)
    assert e.value.code is Exit.ENVIRONMENT
    assert str(e.value) == (
        "cannot cut b1 off\n  observed: sudo: a password is required\n"
        "  do:       let its user change routes: root, or sudo without a password for `ip` (iproute2)"
    )
