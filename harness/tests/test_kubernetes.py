"""The manifests of config/kubernetes: right by the schemas of Kubernetes, fitting each other, and settings that Kafka
takes. No cluster of Kubernetes runs here.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from harness.common.paths import project_root
from harness.distribution import container_image
from harness.distribution.locate import find
from harness.tests.entry_point import Container

FOLDER = project_root() / "kafka-patch" / "dist" / "config" / "kubernetes"
PAGE = project_root() / "docs" / "operations" / "kubernetes.md"
VERSIONS = ("1.32", kubernetes_validate.latest_version())  # the page names the first
ID = "u1f0mCSBTk6UBl3gqAEYdg"

Object = dict[str, Any]


def objects() -> list[Object]:
    return [found for file in sorted(FOLDER.glob("*.yaml")) for found in yaml.safe_load_all(file.read_text())]


def named(kind: str) -> dict[str, Object]:
    return {found["metadata"]["name"]: found for found in objects() if found["kind"] == kind}


def keys(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each field below a value."""
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(value, dict):
            yield (*path, key)
        yield from keys(below, (*path, key))


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_are_right_by_the_schemas(version: str) -> None:
    assert f"Kubernetes {VERSIONS[0]}" in PAGE.read_text()
    for found in objects():
        kubernetes_validate.validate(found, version, strict=True)


def test_a_misspelt_field_is_found() -> None:
    """Any field of the broker's set, but for names that are the user's own."""
    broker = named("StatefulSet")["kafka-a"]
    own = ("labels", "matchLabels", "requests", "limits")
    paths = [path for path in keys(broker) if not set(path[:-1]) & set(own) and path[-1] not in ("apiVersion", "kind")]
    assert len(paths) > 100
    for path in paths[::7]:
        wrong = copy.deepcopy(broker)
        parent = wrong
        for key in path[:-1]:
            parent = parent[key]
        parent[f"{path[-1]}s"] = parent.pop(path[-1])
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)
            pytest.fail(f"not found: {path}")


def test_zones_differ_in_their_name_and_first_number_only() -> None:
    def general(file: Path, letter: str, first: int) -> str:
        text = re.sub(rf"\bzone-{letter}\b", "ZONE", file.read_text())
        return re.sub(rf"\b{first}\b", "FIRST", re.sub(rf"\bkafka-{letter}\b", "NAME", text))

    found = {general(FOLDER / f"brokers-{z}.yaml", z, n) for z, n in {"a": 100, "b": 200, "c": 300}.items()}
    assert len(found) == 1 and found.pop().count("ZONE") == 4


def test_selectors_names_and_ports_fit_each_other() -> None:
    sets = named("StatefulSet")
    for name, found in sets.items():
        template, spec = found["spec"]["template"], found["spec"]["template"]["spec"]
        labels, container = template["metadata"]["labels"], spec["containers"][0]
        component = labels["app.kubernetes.io/component"]
        assert found["spec"]["selector"]["matchLabels"] == labels
        apart = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
        budget = named("PodDisruptionBudget")[f"kafka-{component}s"]["spec"]["selector"]["matchLabels"]
        service = named("Service")[found["spec"]["serviceName"]]["spec"]
        policy = named("NetworkPolicy")["kafka-controllers"]["spec"]["podSelector"]["matchLabels"]
        for selector in (apart["labelSelector"]["matchLabels"], budget, service["selector"]):
            assert selector.items() <= labels.items(), name
        assert (policy.items() <= labels.items()) == (component == "controller")
        assert service["publishNotReadyAddresses"] and service["clusterIP"] == "None"
        assert {p["targetPort"] for p in service["ports"]} == {p["name"] for p in container["ports"]}
        claims = {c["metadata"]["name"] for c in found["spec"]["volumeClaimTemplates"]}
        assert {m["name"] for m in container["volumeMounts"]} == claims | {v["name"] for v in spec["volumes"]}
        assert spec["enableServiceLinks"] is False  # a service `kafka` would be a variable KAFKA_PORT
    voters = named("ConfigMap")["kafka-node"]["data"]["KAFKA_CONTROLLER_QUORUM_VOTERS"].split(",")
    pods = range(sets["kafka-controller"]["spec"]["replicas"])
    assert voters == [f"{n}@kafka-controller-{n}.kafka-controllers:9093" for n in pods]


def test_containers_are_those_of_the_image() -> None:
    kafka = find("rackspan")
    for found in named("StatefulSet").values():
        spec = found["spec"]["template"]["spec"]
        container, security = spec["containers"][0], spec["securityContext"]
        assert kafka.version.endswith(container["image"].removeprefix("rackspan:"))
        assert (security["runAsUser"], security["fsGroup"], security["runAsNonRoot"]) == (container_image.USER,) * 2 + (
            True,
        )
        check = Path(container["readinessProbe"]["exec"]["command"][0])
        assert (kafka.home / check.relative_to(container_image.KAFKA)).is_file()
        mounts = {m["mountPath"] for m in container["volumeMounts"]}
        assert mounts == {"/var/lib/kafka/data", "/tmp", f"{container_image.KAFKA}/logs"}


@pytest.mark.parametrize("name", ["kafka-a", "kafka-controller"])
def test_kafka_takes_the_settings_of_a_pod(name: str, tmp_path: Path) -> None:
    """Formats the storage with the variables that the pod has."""
    container = Container(tmp_path)
    found = named("StatefulSet")[name]
    index = str(found["spec"].get("ordinals", {}).get("start", 0))
    fields = {"metadata.name": f"{name}-{index}", "metadata.labels['apps.kubernetes.io/pod-index']": index}
    variables = dict(named("ConfigMap")["kafka-node"]["data"])
    for entry in found["spec"]["template"]["spec"]["containers"][0]["env"]:
        source = entry.get("valueFrom", {})
        value = fields[source["fieldRef"]["fieldPath"]] if "fieldRef" in source else entry.get("value", ID)
        variables[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda m: variables[m[1]], value)
    assert variables["KAFKA_LOG_DIRS"].startswith("/var/lib/kafka/data/")
    settings = container.settings(**variables | {"KAFKA_LOG_DIRS": str(container["DATA"])})
    assert (settings["node.id"], settings["min.insync.racks"]) == (index, "2")
    if name == "kafka-a":
        assert settings["broker.rack"] == "zone-a"
        assert settings["advertised.listeners"] == "PLAINTEXT://kafka-a-100.kafka-brokers:9092"
    assert f"cluster.id={ID}\n" in (container["DATA"] / "meta.properties").read_text()
