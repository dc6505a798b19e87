"""Specs: valid ones, and the errors of invalid ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.common.errors import Exit, RackspanError
from harness.spec.cluster_spec import json_schema, load, parse, parse_racks


def test_defaults_are_six_brokers_in_three_racks_and_three_controllers() -> None:
    spec = parse({})
    assert spec.racks == {"a": 2, "b": 2, "c": 2}
    assert spec.controllers == 3
    assert spec.distribution == "rackspan"
    assert spec.profile == "fast-failover"


@pytest.mark.parametrize(
    ("data", "observed"),
    [
        ({"rack": {}}, "no key 'rack'; did you mean 'racks'?"),
        ({"heap": {"brker": "1g"}}, "heap: no key 'brker'; did you mean 'broker'?"),
        ({"nodes": {"a1": {"setings": {}}}}, "nodes.a1: no key 'setings'; did you mean 'settings'?"),
        ({"nodes": {"b9": {}}}, "nodes.b9: no node 'b9'; did you mean"),
        ({"nodes": {"ctrl-1": {"rack": "a"}}}, "nodes.ctrl-1: a controller has no broker.rack"),
        ({"racks": "a2"}, "racks: cannot read 'a2' as RACK:BROKERS, as in a:2,b:2,c:2"),
        ({"racks": "a:1,a:2"}, "racks: rack a is named twice"),
        ({"racks": {"A": 1}}, "racks: rack name 'A' must be lower-case letters, digits and '-'"),
        ({"racks": {"a": 0}}, "racks: no rack has a broker"),
        ({"racks": {"a": 100}}, "racks: rack a has 100 brokers; 0 to 99 are possible"),
        ({"broker": {"node.id": 1}}, "broker: node.id follows from the plan of the cluster and cannot be set here"),
        (
            {"controllers": "x"},
            "controllers: Input should be a valid integer, unable to parse string as an integer, not",
        ),
        ({"profile": "fast"}, "profile: Input should be 'fast-failover' or 'kafka-defaults', not 'fast'"),
        ({"apiVersion": "rackspan/v2"}, "apiVersion: Input should be 'rackspan/v1', not 'rackspan/v2'"),
        ({"heap": {"broker": "512"}}, "heap.broker: String should match pattern"),
    ],
)
def test_an_invalid_spec_is_refused_with_the_reason(data: dict[str, object], observed: str) -> None:
    with pytest.raises(RackspanError) as e:
        parse(data, where="lab.yaml")
    assert e.value.what == "lab.yaml is not valid"
    assert observed in e.value.observed
    assert e.value.do == "correct it; `rackspan up --schema` prints all keys with their meaning"
    assert e.value.code == Exit.USAGE


def test_all_errors_of_a_spec_are_reported_at_once() -> None:
    with pytest.raises(RackspanError) as e:
        parse({"rcks": 1, "controllers": 0})
    assert (
        "'rcks'" in e.value.observed and "controllers: Input should be greater than or equal to 1" in e.value.observed
    )


def test_settings_become_the_text_that_kafka_reads() -> None:
    spec = parse({"broker": {"min.insync.racks": 2, "auto.create.topics.enable": True}})
    assert spec.broker == {"min.insync.racks": "2", "auto.create.topics.enable": "true"}


def test_yaml_round_trip(tmp_path: Path) -> None:
    spec = parse(
        {"name": "lab", "racks": "x:1,y:3", "nodes": {"y2": {"rack": "", "heap": "1g", "distribution": "stock"}}}
    )
    file = tmp_path / "spec.yaml"
    file.write_text(spec.to_yaml())
    assert load(file) == spec


def test_a_file_that_is_no_spec_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RackspanError, match="cannot read the spec"):
        load(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("racks: [")
    with pytest.raises(RackspanError, match="is not YAML"):
        load(broken)
    broken.write_text("- a\n")
    with pytest.raises(RackspanError, match="a list where keys and values are expected"):
        load(broken)


def test_racks_have_a_short_form() -> None:
    assert parse_racks("a:2, eu-west-1:10") == {"a": 2, "eu-west-1": 10}


def test_schema_names_every_key() -> None:
    schema = json.loads(json_schema())
    assert {"racks", "controllers", "distribution", "nodes"} <= schema["properties"].keys()
    assert schema["additionalProperties"] is False
