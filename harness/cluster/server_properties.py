"""Rendering server.properties of a node: pure."""

from __future__ import annotations

from harness.spec.profiles import SMALL_MACHINE, TIMEOUTS, internal_topics
from harness.spec.topology import SECURE_PORT, Node, Plan

FROM_FILES = {  # lets a value be ${file:PATH:KEY}
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}
SECRETS, STORE = "secrets.properties", "store.pem"  # beside the data folder of a broker with users


def server_properties(plan: Plan, node: Node, data_dir: str) -> dict[str, str]:
    """All settings of a node: sizes, profile, the spec's own (cluster, role, node; later wins), then what the plan
    fixes.
    """
    spec = plan.spec
    settings: dict[str, str] = {}
    settings |= SMALL_MACHINE
    settings |= internal_topics(len(plan.brokers))
    settings |= TIMEOUTS[spec.profile]
    settings |= spec.settings
    settings |= spec.broker if node.role == "broker" else spec.controller
    if node.name in spec.nodes:
        settings |= spec.nodes[node.name].settings
    return settings | _fixed(plan, node, data_dir)


def _fixed(plan: Plan, node: Node, data_dir: str) -> dict[str, str]:
    fixed = {
        "process.roles": node.role,
        "node.id": str(node.id),
        "controller.quorum.voters": plan.voters,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": data_dir,
    }
    if plan.spec.users:
        fixed |= {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",  # whoever comes without encryption: brokers, controllers, the harness
        }
    if node.role == "controller":
        return fixed | {"listeners": f"CONTROLLER://{node.endpoint}"}
    fixed |= {
        "listeners": f"PLAINTEXT://{node.endpoint}",
        "advertised.listeners": f"PLAINTEXT://{node.endpoint}",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    if plan.spec.users:
        fixed |= _secure(fixed, node, data_dir.rpartition("/")[0])
    return fixed | ({"broker.rack": node.broker_rack} if node.broker_rack else {})


def _secure(fixed: dict[str, str], node: Node, root: str) -> dict[str, str]:
    """The second listener, whose secrets are in a file of the broker's own."""
    more = f",SECURE://{node.address}:{SECURE_PORT}"
    return {
        "listeners": fixed["listeners"] + more,
        "advertised.listeners": fixed["advertised.listeners"] + more,
        "listener.security.protocol.map": fixed["listener.security.protocol.map"] + ",SECURE:SASL_SSL",
        **FROM_FILES,
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": "${file:" + f"{root}/{SECRETS}:" + "logins}",
        "listener.name.secure.ssl.keystore.type": "PEM",
        "listener.name.secure.ssl.keystore.location": f"{root}/{STORE}",
    }


def to_text(settings: dict[str, str]) -> str:
    """Java properties text, one sorted key a line; backslashes, line breaks and leading blanks escaped."""
    return "".join(f"{_escape(key, key=True)}={_escape(value)}\n" for key, value in sorted(settings.items()))


def _escape(text: str, *, key: bool = False) -> str:
    out = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if key:
        for mark in " =:#!":
            out = out.replace(mark, "\\" + mark)
    elif out.startswith(" "):
        out = "\\" + out
    return "".join(c if 0x20 <= ord(c) < 0x7F else "".join(f"\\u{u:04x}" for u in _utf16(c)) for c in out)


def _utf16(char: str) -> list[int]:
    data = char.encode("utf-16-be")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
