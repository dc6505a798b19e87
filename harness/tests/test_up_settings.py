"""`rackspan up --set`: unknown names are refused, and settings with a default of the cluster become one."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.admin.cluster_defaults import default_of
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.errors import Exit, RackspanError
from harness.distribution.known_settings import cluster_defaults, known_settings
from harness.distribution.locate import Distribution, find
from harness.tests.commands import rackspan

SMALL = ("up", "--racks", "a:1", "--controllers", "1", "--name", "lab")
KNOWN = {
    "min.insync.replicas": "cluster-wide",
    "log.retention.ms": "cluster-wide",
    "log.dirs": "read-only",
    "ssl.keystore.type": "per-broker",
}


def test_only_settings_with_a_default_of_the_cluster_become_one() -> None:
    settings = {"min.insync.replicas": "2", "log.dirs": "/x", "listener.name.secure.max.connections": "3"}
    assert cluster_defaults(settings, KNOWN) == {"min.insync.replicas": "2"}


def test_unknown_settings_are_refused_with_the_nearest_known_ones() -> None:
    with pytest.raises(RackspanError) as e:
        cluster_defaults({"retention.ms": "1", "min.insync.replica": "2", "log.dirs": "/x"}, KNOWN)
    assert str(e.value) == (
        "unknown settings\n"
        "  observed: no setting 'retention.ms'; did you mean 'log.retention.ms'?; "
        "no setting 'min.insync.replica'; did you mean 'min.insync.replicas'?\n"
        "  do:       correct the names; what a plugin of the brokers reads goes under `broker` in a cluster spec"
    )
    assert e.value.code == Exit.USAGE


def test_each_distribution_knows_its_own_settings() -> None:
    ours, stock = known_settings(find("rackspan")), known_settings(find("stock"))
    assert ours.keys() - stock.keys() == {
        "min.insync.racks",
        "min.insync.racks.strict.placement",
        "min.insync.racks.shadow",
        "acks.all.scope",
        "min.insync.replicas.inconsistent.action",
    }
    assert not stock.keys() - ours.keys()
    assert ours["min.insync.racks"] == stock["min.insync.replicas"] == "cluster-wide"


def test_a_distribution_that_cannot_list_its_settings_is_named(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "kafka-run-class.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho no such class >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(RackspanError) as e:
        known_settings(Distribution(tmp_path))
    assert str(e.value) == (
        f"cannot read the settings that {tmp_path.name} knows\n"
        "  observed: no such class\n"
        "  do:       build it again with `./rackspan build`"
    )


@pytest.mark.cluster
def test_set_is_in_force_for_topics_of_the_cluster(home: Path) -> None:
    wrong = rackspan(*SMALL, "--set", "min.insync.rack=2", home=home)
    assert wrong.returncode == Exit.USAGE
    assert "no setting 'min.insync.rack'; did you mean 'min.insync.racks'?" in wrong.stderr
    assert not (home / "clusters").exists()
    spec = home.with_name("lab.yaml")
    spec.write_text("broker: {min.insync.racks: 1, log.retention.ms: 60000}\nsettings: {acks.all.scope: isr}\n")
    given = ("-f", str(spec), "--set", "min.insync.replicas=2", "--set", "num.io.threads=3")
    ran = rackspan(*SMALL, "--distribution", "rackspan", *given, home=home)
    assert ran.returncode == 0, ran.stderr
    cluster = KafkaCluster.open("lab")
    try:
        assert default_of(cluster.alive_brokers(), "min.insync.replicas") == "2"
        assert default_of(cluster.alive_brokers(), "num.io.threads") == "3"
        assert default_of(cluster.alive_brokers(), "min.insync.racks") == "1", "from the spec"
        assert default_of(cluster.alive_brokers(), "acks.all.scope") == "isr", "from the spec"
        assert default_of(cluster.alive_brokers(), "log.retention.ms") is None, "in force without"
    finally:
        cluster.down()
