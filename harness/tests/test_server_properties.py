"""server.properties: settings of the plan, settings of the spec, and text that Java reads back unchanged."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from harness.cluster.server_properties import server_properties, to_text
from harness.spec.cluster_spec import parse
from harness.spec.topology import plan


def settings(node: str, **spec: object) -> dict[str, str]:
    made = plan(parse(spec))
    return server_properties(made, made.node(node), "/data")


def test_a_broker_knows_its_rack_and_its_own_address() -> None:
    found = settings("b2")
    assert found["broker.rack"] == "b"
    assert found["listeners"] == found["advertised.listeners"] == "PLAINTEXT://127.77.2.2:9092"
    assert found["node.id"] == "4"
    assert found["log.dirs"] == "/data"
    assert found["auto.create.topics.enable"] == "false"
    assert found["log.cleaner.dedupe.buffer.size"] == "8388608"


def test_a_broker_without_a_rack_has_no_broker_rack() -> None:
    assert "broker.rack" not in settings("b2", nodes={"b2": {"rack": ""}})
    assert settings("b2", nodes={"b2": {"rack": "elsewhere"}})["broker.rack"] == "elsewhere"


def test_controllers_have_no_rack_and_no_client_listener() -> None:
    found = settings("ctrl-2")
    assert found["listeners"] == "CONTROLLER://127.77.2.101:9093"
    assert not {"broker.rack", "advertised.listeners"} & found.keys()


def test_users_connect_to_a_second_listener() -> None:
    found = settings("b2", users=["writer"])
    assert found["listeners"] == "PLAINTEXT://127.77.2.2:9092,SECURE://127.77.2.2:9094"
    assert found["listener.security.protocol.map"].endswith(",SECURE:SASL_SSL")
    assert found["listener.name.secure.plain.sasl.jaas.config"] == "${file:/secrets.properties:logins}"
    assert found["listener.name.secure.ssl.keystore.location"] == "/store.pem"
    assert found["inter.broker.listener.name"] == "PLAINTEXT"
    rules = {"authorizer.class.name", "super.users"}
    assert rules <= found.keys() and rules <= settings("ctrl-1", users=["writer"]).keys()
    assert not rules & settings("b2").keys() and "SECURE" not in settings("b2")["listeners"]


def test_later_settings_override_earlier_ones_of_their_role() -> None:
    spec = {
        "settings": {"num.io.threads": 1, "x": "all"},
        "broker": {"num.io.threads": 2, "min.insync.racks": 2},
        "controller": {"y": "controllers"},
        "nodes": {"a1": {"settings": {"num.io.threads": 3}}},
    }
    assert settings("a1", **spec)["num.io.threads"] == "3"
    assert settings("a2", **spec)["num.io.threads"] == "2"
    assert settings("ctrl-1", **spec)["num.io.threads"] == "1"
    assert "min.insync.racks" not in settings("ctrl-1", **spec)
    assert "y" not in settings("a1", **spec) and settings("ctrl-1", **spec)["y"] == "controllers"
    assert settings("a1", **spec)["x"] == "all"


def test_profiles_differ_in_detection_times_only() -> None:
    fast, slow = settings("a1"), settings("a1", profile="kafka-defaults")
    assert fast["broker.session.timeout.ms"] == "2000"
    assert not any("timeout" in key or "lag" in key for key in slow)
    assert slow.items() <= fast.items()


def test_internal_topics_have_no_more_replicas_than_there_are_brokers() -> None:
    assert settings("a1")["offsets.topic.replication.factor"] == "3"
    few = settings("a1", racks="a:1", controllers=1)
    assert few["offsets.topic.replication.factor"] == "1" and few["transaction.state.log.min.isr"] == "1"


def java_properties(text: str) -> dict[str, str]:
    """Reads properties by Java's rules, as far as our writer uses them."""
    found: dict[str, str] = {}
    escapes = {"n": "\n", "r": "\r", "t": "\t"}

    def plain(raw: str) -> str:
        units = re.sub(r"\\(u([0-9a-f]{4})|.)", lambda m: chr(int(m[2], 16)) if m[2] else escapes.get(m[1], m[1]), raw)
        return units.encode("utf-16", "surrogatepass").decode("utf-16")

    for line in text.splitlines():
        match = re.fullmatch(r"((?:\\.|[^\\=: ])*)=[ \t\f]*(.*)", line)
        assert match, line
        found[plain(match[1])] = plain(match[2])
    return found


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=5))
def test_a_value_is_the_same_after_java_has_read_it(values: dict[str, str]) -> None:
    assert java_properties(to_text(values)) == values
