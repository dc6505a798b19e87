"""The real base: its tool chain, a complete build and each prefix of the series. Minutes each; run with `-m slow`."""

import hashlib
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import psutil
import pytest

from kpatch import cli, debian, paths, prefixes, series, toolchain, upstream

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts"),
]


JVMS = Path("/usr/lib/jvm")


def _official_jdk(jvms: Path = JVMS) -> Path | None:
    """A JDK of the version that made the official classes, where the machine has one."""
    found = [p for p in jvms.glob(f"*-{toolchain.OFFICIAL_JAVAC}-*") if (p / "bin" / "javac").exists()]
    return found[0] if found else None


def _compared(folder: Path, only: list[str]) -> list[toolchain.Comparison]:
    """Modules of the base, compiled by the JDK in use; checked is what every JDK gives."""
    up = upstream.load()
    results = toolchain.compare(up, cli.sources(up), folder, only, print)
    assert [c.artifact for c in results] == [m.artifact for m in up.modules if not only or m.artifact in only]
    for c in results:
        assert c.total > 0 and not c.missing and not c.extra, c
        assert not c.scala_differ, f"{c.artifact}: classes of Scala sources differ from the official ones"
    return results


def test_unpatched_sources_give_the_official_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk = _official_jdk()
    if jdk is None:
        pytest.skip(f"no JDK {toolchain.OFFICIAL_JAVAC} in {JVMS}, which made the official classes of Java sources")
    monkeypatch.setenv("JAVA_HOME", str(jdk))
    for c in _compared(tmp_path / "chain", []):
        assert not c.java_differ, f"{c.artifact}: classes of Java sources differ from the official ones"
        assert not c.switch_tables, c.switch_tables


def test_an_older_javac_shows_in_classes_of_java_sources_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no JDK 25 is in sight: lambdas are numbered in another order, and some switches have a class of tables."""
    older = next((p for p in sorted(JVMS.glob("java-17-openjdk-*")) if (p / "bin" / "javac").exists()), None)
    if older is not None:
        monkeypatch.setenv("JAVA_HOME", str(older))
    if toolchain.javac_major() >= toolchain.OFFICIAL_JAVAC:
        pytest.skip("no older JDK on this machine: the test before shows more")
    # With a JDK 25 the test before compiles all modules; this one needs only a module of many Java sources.
    results = _compared(tmp_path / "chain", ["kafka-clients"] if _official_jdk() else [])
    clients = next(c for c in results if c.artifact == "kafka-clients")
    assert "org/apache/kafka/clients/admin/internals/AdminMetadataManager$1.class" in clients.switch_tables
    assert clients.total - len(clients.java_differ) >= 900
    for c in results:
        if c.artifact == "kafka_2.13":
            assert c.total - len(c.java_differ) >= 280


def test_each_prefix_of_the_series_compiles(tmp_path: Path) -> None:
    up = upstream.load()
    assert prefixes.check(up, cli.sources(up), tmp_path, print) == len(series.read_series(paths.PATCHES))


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    up = upstream.load()
    first = paths.BUILD / "dist" / f"rackspan-kafka_2.13-{up.version}-{up.build}.tgz"
    assert first.is_file(), "build it first: gradle dist"
    before = os.umask(0o077)
    try:
        assert cli.main(["build", "--out", str(tmp_path)]) == 0
    finally:
        os.umask(before)
    # Digests: a difference of a hundred megabytes would take pytest an hour to show.
    assert _sha256(first) == _sha256(tmp_path / "dist" / first.name)
    place = tmp_path / "first" / "dist"
    place.mkdir(parents=True)
    for name in (first.name, first.stem):
        (place / name).symlink_to(first.with_name(name))
    for out in (tmp_path, place.parent):
        assert cli.main(["package", "--out", str(out)]) == 0
    for name in (debian.name(up), f"{first.stem}.cdx.json"):
        assert _sha256(tmp_path / "dist" / name) == _sha256(place / name), name
    version = f"{up.version}-{up.build}"
    client = tmp_path / "maven/io/rackspan/rackspan-kafka-clients" / version / f"rackspan-kafka-clients-{version}"
    with zipfile.ZipFile(client.with_name(client.name + ".jar")) as jar:
        assert "org/apache/kafka/common/errors/NotEnoughRacksException.class" in jar.namelist()
    pom = ElementTree.parse(client.with_name(client.name + ".pom")).getroot()
    needs = {e.text for e in pom.iter("{http://maven.apache.org/POM/4.0.0}artifactId")}
    assert needs == {"rackspan-kafka-clients", "lz4-java", "slf4j-api", "snappy-java", "zstd-jni"}


def test_a_terminated_simulation_ends_its_jvm(tmp_path: Path) -> None:
    step = [sys.executable, "-m", "kpatch", "simulate", "--seeds", "0..999999", "--out", str(tmp_path)]
    with subprocess.Popen(step, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(paths.KAFKA_PATCH)}) as run:
        assert run.stdout is not None and b"histories" in run.stdout.readline()
        jvm = [p.pid for p in psutil.Process(run.pid).children() if "io.rackspan.simulation.Simulate" in p.cmdline()]
        run.terminate()
        assert run.wait(60) == 128 + signal.SIGTERM
    assert jvm and not psutil.pid_exists(jvm[0])
