"""Targets that name a role, and the error where no node has it."""

from __future__ import annotations

import pytest

from harness.cluster.cluster_view import Partition, View, Voter
from harness.cluster.targets import fixed
from harness.common.errors import Exit, RackspanError
from harness.spec.cluster_spec import parse
from harness.spec.topology import plan

PLAN = plan(parse({"racks": "a:1,b:1", "controllers": 2}))
VIEW = View({1: "a", 2: "b"}, 102, (Voter(102, 0),), (Partition("my-topic", 3, 2, (1, 2), (2,)),))


def never() -> View:
    raise AssertionError("the view of the cluster is not needed")


def test_roles_resolve_to_the_nodes_that_have_them() -> None:
    assert fixed(["a1", "rack:b", "controllers"], PLAN, never) == ["a1", "rack:b", "controllers"]
    assert fixed(["leader:my-topic-3", "a1", "controller"], PLAN, lambda: VIEW) == ["b1", "a1", "ctrl-2"]


def test_an_unknown_role_is_named() -> None:
    with pytest.raises(RackspanError) as e:
        fixed(["leader:my-topic-0"], PLAN, lambda: VIEW)
    assert e.value.code == Exit.USAGE
    assert str(e.value) == (
        "partition 'my-topic-0' not found\n"
        "  observed: topics: my-topic\n"
        "  do:       name a topic and the number of its partition, as in leader:orders-0"
    )
    alone = View({}, -1, (), (Partition("t", 0, -1, (1, 2), ()),))
    with pytest.raises(RackspanError) as e:
        fixed(["leader:t-0"], PLAN, lambda: alone)
    assert str(e.value) == (
        "no node is leader:t-0 at the moment\n  observed: the partition has no leader\n"
        "  do:       wait until `rackspan status` shows one"
    )
    with pytest.raises(
        RackspanError, match="no node is controller at the moment\n  observed: the controllers have no leader"
    ):
        fixed(["controller"], PLAN, lambda: alone)
    with pytest.raises(RackspanError, match="partition 'x' not found\n  observed: topics: none"):
        fixed(["leader:x"], PLAN, lambda: View({}, -1, (), ()))
