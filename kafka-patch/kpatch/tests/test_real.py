"""The real base: its tool chain and a complete build. Minutes each; run with `-m slow`."""

import hashlib
import os
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

from kpatch import cli, paths, toolchain, upstream

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts"),
]


def _official_jdk() -> Path | None:
    """A JDK of the version that made the official classes, where the machine has one."""
    found = [p for p in Path("/usr/lib/jvm").glob(f"*-{toolchain.OFFICIAL_JAVAC}-*") if (p / "bin" / "javac").exists()]
    return found[0] if found else None


def test_unpatched_sources_give_the_official_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if jdk := _official_jdk():
        monkeypatch.setenv("JAVA_HOME", str(jdk))
    up = upstream.load()
    results = toolchain.compare(up, cli.sources(up), tmp_path / "chain", [], print)
    assert [c.artifact for c in results] == [m.artifact for m in up.modules]
    for c in results:
        assert c.total > 0 and not c.missing and not c.extra, c
        assert not c.scala_differ, f"{c.artifact}: classes of Scala sources differ from the official ones"
        if jdk:
            assert not c.java_differ, f"{c.artifact}: classes of Java sources differ from the official ones"
    scala = next(c for c in results if c.artifact == "kafka_2.13")
    # javac before 25 numbers lambdas in another order; nothing but classes of Java sources may show it.
    assert scala.total - len(scala.java_differ) >= 280


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
    version = f"{up.version}-{up.build}"
    client = tmp_path / "maven/io/rackspan/rackspan-kafka-clients" / version / f"rackspan-kafka-clients-{version}"
    with zipfile.ZipFile(client.with_name(client.name + ".jar")) as jar:
        assert "org/apache/kafka/common/errors/NotEnoughRacksException.class" in jar.namelist()
    pom = ElementTree.parse(client.with_name(client.name + ".pom")).getroot()
    needs = {e.text for e in pom.iter("{http://maven.apache.org/POM/4.0.0}artifactId")}
    assert needs == {"rackspan-kafka-clients", "lz4-java", "slf4j-api", "snappy-java", "zstd-jni"}
