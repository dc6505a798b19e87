"""Inventories of machines: valid and invalid ones, and the assignment of nodes to machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.common.errors import Exit, RackspanError
from harness.spec.cluster_spec import parse
from harness.spec.inventory import load
from harness.spec.topology import plan

YAML = """
user: admin
key: keys/racks
hosts:
  - {address: 192.0.2.11, rack: a}
  - {address: 192.0.2.12, rack: a, user: other, port: 2222}
  - {address: 192.0.2.21, rack: b, folder: /srv/rackspan, host_key: ssh-ed25519 AAAA}
"""


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "racks").write_text("key")
    return tmp_path / "keys" / "racks"


def test_a_machine_has_common_and_own_keys(keys: Path, tmp_path: Path) -> None:
    file = tmp_path / "vms.yaml"
    file.write_text(YAML)
    key = str(keys)
    assert load(file) == [
        {"user": "admin", "key": key, "address": "192.0.2.11", "rack": "a"},
        {"user": "other", "key": key, "port": 2222, "address": "192.0.2.12", "rack": "a"},
        {
            "user": "admin",
            "key": key,
            "folder": "/srv/rackspan",
            "address": "192.0.2.21",
            "rack": "b",
            "host_key": "ssh-ed25519 AAAA",
        },
    ]


def test_an_inventory_may_be_that_of_ducktape(keys: Path, tmp_path: Path) -> None:
    ssh = {"host": "w1", "hostname": "192.0.2.1", "user": "vagrant", "port": 2201, "identityfile": str(keys)}
    nodes = [
        {"externally_routable_ip": "198.51.100.1", "node_type": "a", "ssh_config": ssh | {"password": None}},
        {"node_type": "b", "ssh_config": {"hostname": "192.0.2.2"}},
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"nodes": nodes}))
    first = {"address": "198.51.100.1", "ssh_address": "192.0.2.1", "rack": "a"}
    assert load(file) == [
        first | {"user": "vagrant", "port": 2201, "key": str(keys)},
        {"address": "192.0.2.2", "rack": "b"},
    ]
    refused = {"node_type": "b", "ssh_config": {"hostname": "192.0.2.2", "password": "secret"}}
    file.write_text(json.dumps({"nodes": [refused]}))
    with pytest.raises(RackspanError, match=r"nodes.0.ssh_config.password: passwords are not used; give a key"):
        load(file)


@pytest.mark.parametrize(
    ("text", "what", "observed"),
    [
        ("hosts: [{adress: h, rack: a}]", "host 1 of FILE", "no key 'adress'; did you mean 'address'?"),
        ("hosts: [{address: h}]", "host 1 of FILE", "rack: Field required"),
        ("hosts: []", "FILE", "hosts: Tuple should have at least 1 item"),
        ("host: []", "FILE", "no key 'host'; did you mean 'hosts'?"),
        ("hosts: [{address: h, rack: a}, {address: h, rack: b}]", "FILE", "h is there twice"),
        ("hosts: [{address: '-oProxyCommand=x', rack: a}]", "host 1 of FILE", "address: String should match pattern"),
        ("hosts: [{address: h, rack: a, user: -oX}]", "host 1 of FILE", "user: String should match pattern"),
        ("hosts: [{address: h, rack: a, folder: /}]", "host 1 of FILE", "'/' is no absolute path of a folder of its"),
        ("nodes: [{ssh_config: {hostname: h}}]", "FILE", "nodes.0.node_type: Field required"),
    ],
)
def test_an_invalid_inventory_is_refused_with_the_reason(text: str, what: str, observed: str, tmp_path: Path) -> None:
    file = tmp_path / "vms.yaml"
    file.write_text(text)
    with pytest.raises(RackspanError) as e:
        load(file)
    assert e.value.what == f"{what.replace('FILE', str(file))} is not valid"
    assert observed in e.value.observed and e.value.code is Exit.USAGE


def test_a_missing_ssh_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vms.yaml"
    file.write_text(YAML)
    with pytest.raises(RackspanError) as e:
        load(file)
    assert str(e.value) == (
        f"the key of host 192.0.2.11 is not there\n  observed: no file {tmp_path}/keys/racks\n"
        f"  do:       correct `key` in {file}"
    )


def hosts(**racks: int) -> list[dict[str, Any]]:
    return [{"address": f"{rack}{n}.example", "rack": rack} for rack, count in racks.items() for n in range(count)]


def test_a_broker_has_a_machine_to_itself_and_controllers_share_if_needed() -> None:
    spec = parse({"backend": "ssh", "racks": "a:1,b:1", "controllers": 3, "hosts": hosts(a=2, b=1, x=1)})
    assert {n.name: (n.address, n.port, n.metrics_port) for n in plan(spec).nodes} == {
        "a1": ("a0.example", 9092, 9404),
        "b1": ("b0.example", 9092, 9404),
        "ctrl-1": ("a1.example", 9093, 9405),
        "ctrl-2": ("b0.example", 9093, 9405),
        "ctrl-3": ("a0.example", 9093, 9405),
    }


@pytest.mark.parametrize(
    ("data", "observed"),
    [
        ({"backend": "ssh"}, "hosts: the backend ssh needs machines; give `--inventory FILE`"),
        ({"hosts": hosts(a=1)}, "hosts: the backend local makes its own; give `backend: ssh`"),
        (
            {"backend": "ssh", "racks": "a:2", "hosts": hosts(a=1)},
            "hosts: rack a has 2 brokers and 1 hosts; a broker needs its own",
        ),
        (
            {"backend": "ssh", "racks": "a:1", "controllers": 3, "hosts": hosts(a=2)},
            "hosts: rack a has 2 hosts, fewer than controllers; a controller needs one",
        ),
        (
            {"backend": "ssh", "racks": "a:1", "controllers": 1, "hosts": hosts(a=2), "links": {"default": "2ms"}},
            "links: the backend ssh cannot delay; give `backend: netns`",
        ),
    ],
)
def test_hosts_that_do_not_fit_the_spec_are_refused(data: dict[str, object], observed: str) -> None:
    with pytest.raises(RackspanError) as e:
        parse(data)
    assert observed in e.value.observed and e.value.code is Exit.USAGE
