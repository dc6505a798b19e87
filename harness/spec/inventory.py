"""Machines that are there already: read from an inventory, and which of them each node of a cluster gets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from harness.common.errors import usage_error
from harness.common.validation import Strict, read_yaml, validated
from harness.spec.node_names import broker_name, controller_name

ADDRESS = r"[A-Za-z0-9][A-Za-z0-9.:-]*"  # nothing that ssh would take for an option


class Access(Strict):
    """Access to a machine and its use; what is empty is left to ssh's own configuration or to the machine."""

    user: str = Field("", pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$", description="who logs in")
    port: int = Field(22, ge=1, le=65535, description="where sshd listens")
    key: str = Field("", description="file of the private key; relative to the inventory")
    java_home: str = Field("", description="where the machine has Java; else what is on its PATH")
    folder: str = Field("", description="absolute path below which everything is put; else /var/tmp/rackspan-USER")

    @field_validator("folder")
    @classmethod
    def _own_folder(cls, folder: str) -> str:
        if folder and not re.fullmatch(r"(/[^/\0]+){2,}", folder):
            raise ValueError(f"{folder!r} is no absolute path of a folder of its own")
        return folder


class Machine(Access):
    """One machine: `address` is one of its own and the one that other machines and clients reach it at."""

    address: str = Field(pattern=f"^{ADDRESS}$")
    rack: str = Field(min_length=1)
    ssh_address: str = Field("", pattern=f"^({ADDRESS})?$", description="where ssh finds it, if not at its address")
    host_key: str = Field(
        "", pattern=r"^(\S+ \S+.*)?$", description="public host key, as `ssh-ed25519 AAAA`; else known_hosts"
    )


class Inventory(Access):
    """Machines, and what is the same for all that do not say otherwise."""

    hosts: tuple[dict[str, Any], ...] = Field(min_length=1)


class _SshConfig(Strict):
    host: str | None = None
    hostname: str
    user: str | None = None
    port: int | None = None
    password: str | None = None
    identityfile: str | None = None
    connecttimeout: float | None = None

    @field_validator("password")
    @classmethod
    def _no_password(cls, password: str | None) -> None:
        if password:
            raise ValueError("passwords are not used; give a key as identityfile")


class _JsonNode(Strict):
    ssh_config: _SshConfig
    externally_routable_ip: str | None = None
    node_type: str = Field(min_length=1, description="the rack")


class _JsonInventory(Strict):
    nodes: tuple[_JsonNode, ...] = Field(min_length=1)


def load(path: Path) -> list[dict[str, Any]]:
    """The machines of an inventory as data for a spec: our YAML, or ducktape's JSON with the rack as node_type.

    Raises RackspanError (exit code 2).
    """
    data = read_yaml(path, "inventory")
    words = {
        "where": str(path),
        "what": "inventory",
        "begin": "begin with `hosts:` and one `{address: ..., rack: ...}` a machine",
        "do": "correct it; docs/operations/machines.md shows one",
    }
    if isinstance(data, dict) and "nodes" in data:
        found = [_from_json(n) for n in validated(_JsonInventory, data, **words).nodes]
    else:
        inventory = validated(Inventory, data, **words)
        common = inventory.model_dump(exclude={"hosts"}, exclude_unset=True)
        found = [common | host for host in inventory.hosts]
    machines = [validated(Machine, m, **(words | {"where": f"host {i} of {path}"})) for i, m in enumerate(found, 1)]
    twice = sorted({m.address for m in machines if sum(other.address == m.address for other in machines) > 1})
    if twice:
        raise usage_error(
            f"{path} is not valid", observed=f"{', '.join(twice)} is there twice", do="name each host once"
        )
    return [m.model_dump(exclude_defaults=True) | _key(m, path) for m in machines]


def _key(machine: Machine, path: Path) -> dict[str, str]:
    if not machine.key:
        return {}
    key = (path.resolve().parent / Path(machine.key).expanduser()).resolve()
    if not key.is_file():
        raise usage_error(
            f"the key of host {machine.address} is not there", observed=f"no file {key}", do=f"correct `key` in {path}"
        )
    return {"key": str(key)}


def _from_json(node: _JsonNode) -> dict[str, Any]:
    ssh = node.ssh_config
    address = node.externally_routable_ip or ssh.hostname
    data = {"address": address, "rack": node.node_type, "user": ssh.user, "port": ssh.port, "key": ssh.identityfile}
    data["ssh_address"] = ssh.hostname if ssh.hostname != address else None
    return {key: value for key, value in data.items() if value is not None}


def assign(racks: Mapping[str, int], controllers: int, machines: Sequence[Machine]) -> dict[str, Machine]:
    """The machine of each node by its name: each broker has one to itself among brokers; controllers get those that are
    left over in their rack, then share. Raises ValueError.
    """
    there = {rack: [m for m in machines if m.rack == rack] for rack in racks}
    found: dict[str, Machine] = {}
    for rack, count in racks.items():
        if len(there[rack]) < count:
            raise ValueError(f"rack {rack} has {count} brokers and {len(there[rack])} hosts; a broker needs its own")
        found |= {broker_name(rack, n + 1): there[rack][n] for n in range(count)}
    waiting = {rack: there[rack][count:] + there[rack][:count] for rack, count in racks.items()}
    for number, rack in enumerate(islice(cycle(racks), controllers), 1):
        if not waiting[rack]:
            raise ValueError(
                f"rack {rack} has {len(there[rack])} hosts, fewer than controllers; a controller needs one"
            )
        found[controller_name(number)] = waiting[rack].pop(0)
    return found


def dump(machines: Mapping[str, Machine]) -> str:
    """Text that `restore` reads."""
    return json.dumps({name: m.model_dump() for name, m in machines.items()}, indent=1) + "\n"


def restore(text: str) -> dict[str, Machine]:
    """The machines of each node from the text of `dump`."""
    return {name: Machine.model_validate(m) for name, m in json.loads(text).items()}
