"""Plans of any spec: unique ids, names and addresses, and nodes in the racks of the spec."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.errors import Exit, RackspanError
from harness.common.paths import BLOCKS
from harness.spec.cluster_spec import ClusterSpec, parse
from harness.spec.topology import plan

RACK_NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True)
SPECS = st.builds(
    lambda racks, controllers: parse({"racks": racks, "controllers": controllers}),
    st.dictionaries(RACK_NAMES, st.integers(0, 99), min_size=1, max_size=12).filter(lambda r: sum(r.values()) > 0),
    st.integers(1, 9),
)


@given(SPECS, st.sampled_from(BLOCKS))
def test_ids_names_and_addresses_are_unique(spec: ClusterSpec, block: int) -> None:
    nodes = plan(spec, block).nodes
    assert len({n.id for n in nodes}) == len(nodes)
    assert len({n.name for n in nodes}) == len(nodes)
    assert len({n.address for n in nodes}) == len(nodes)
    for n in nodes:
        assert ipaddress.ip_address(n.address) in ipaddress.ip_network(f"127.{block}.0.0/16")


@given(SPECS)
def test_nodes_are_where_the_spec_says(spec: ClusterSpec) -> None:
    made = plan(spec)
    assert {r: sum(n.rack == r for n in made.brokers) for r in spec.racks} == spec.racks
    assert len(made.controllers) == spec.controllers
    per_rack = [sum(n.rack == r for n in made.controllers) for r in spec.racks]
    assert max(per_rack) - min(per_rack) <= 1
    for rack in spec.racks:
        chosen = [n for n in made.nodes if n.rack == rack]
        if chosen:
            assert list(made.select(f"rack:{rack}")) == chosen


@given(SPECS, st.sampled_from(BLOCKS), st.sampled_from(BLOCKS))
def test_blocks_do_not_overlap(spec: ClusterSpec, one: int, other: int) -> None:
    shared = set(plan(spec, one).listeners) & set(plan(spec, other).listeners)
    assert bool(shared) == (one == other)


def test_the_default_plan_has_nine_nodes() -> None:
    made = plan(parse({}))
    assert [n.name for n in made.nodes] == ["a1", "a2", "b1", "b2", "c1", "c2", "ctrl-1", "ctrl-2", "ctrl-3"]
    assert made.node("b2").endpoint == "127.77.2.2:9092"
    assert made.node("ctrl-3").endpoint == "127.77.3.101:9093"
    assert made.voters == "101@127.77.1.101:9093,102@127.77.2.101:9093,103@127.77.3.101:9093"


def test_a_broker_of_a_rack_that_ends_with_a_digit_has_a_dash() -> None:
    assert [n.name for n in plan(parse({"racks": "a:11,a1:1"})).brokers][-2:] == ["a11", "a1-1"]


def test_targets_select_nodes_racks_and_roles() -> None:
    made = plan(parse({}))
    assert [n.name for n in made.select("rack:a")] == ["a1", "a2", "ctrl-1"]
    assert [n.name for n in made.select(["c1", "a1", "c1"])] == ["a1", "c1"]
    assert len(made.select("brokers")) == 6 and len(made.select("controllers")) == 3 and len(made.select("all")) == 9


def test_unknown_targets_name_the_known_ones() -> None:
    made = plan(parse({"racks": "a:1,b:1", "controllers": 1}))
    with pytest.raises(RackspanError) as e:
        made.select("rack:x")
    assert str(e.value) == "rack 'x' not found\n  observed: racks: a, b\n  do:       name one of them, as in rack:a"
    assert e.value.code == Exit.USAGE
    with pytest.raises(RackspanError) as e:
        made.select("a2")
    assert e.value.brief == "node 'a2' not found: nodes: a1, b1, ctrl-1"
