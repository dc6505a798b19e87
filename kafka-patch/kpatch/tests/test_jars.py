"""Jars: the same bytes from the same inputs, official entries kept, ours over them."""

import os
import zipfile
from pathlib import Path

from kpatch import jars


def _official(tmp_path: Path) -> Path:
    official = tmp_path / "official.jar"
    with zipfile.ZipFile(official, "w") as z:
        z.writestr("p/A.class", b"old")
        z.writestr("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n")
        z.writestr("p/B.class", b"kept")
    return official


def test_overlay_replaces_adds_and_keeps(tmp_path: Path) -> None:
    for name in ("A", "C"):
        (tmp_path / f"{name}.class").write_bytes(b"new " + name.encode())
    jars.overlay(
        _official(tmp_path),
        tmp_path / "out.jar",
        {"p/A.class": tmp_path / "A.class", "p/C.class": tmp_path / "C.class"},
        build=1,
    )
    with zipfile.ZipFile(tmp_path / "out.jar") as z:
        assert z.namelist() == ["META-INF/MANIFEST.MF", "p/A.class", "p/B.class", "p/C.class"]
        assert [z.read(n) for n in z.namelist()[1:]] == [b"new A", b"kept", b"new C"]


def test_the_build_is_named_behind_the_commit(tmp_path: Path) -> None:
    official = tmp_path / "official.jar"
    with zipfile.ZipFile(official, "w") as z:
        z.writestr(jars.VERSION, b"commitId=26b251\nversion=4.3.1")
    jars.overlay(official, tmp_path / "out.jar", {}, build=7)
    with zipfile.ZipFile(tmp_path / "out.jar") as z:
        assert z.read(jars.VERSION) == b"commitId=26b251-rackspan-7\nversion=4.3.1"


def test_times_of_files_do_not_show(tmp_path: Path) -> None:
    classes = tmp_path / "classes" / "p"
    classes.mkdir(parents=True)
    (classes / "A.class").write_bytes(b"a")
    jars.pack(tmp_path / "classes", tmp_path / "1.jar")
    os.utime(classes / "A.class", (1_000_000_000, 1_000_000_000))
    (classes / "A.class").chmod(0o600)
    jars.pack(tmp_path / "classes", tmp_path / "2.jar")
    assert (tmp_path / "1.jar").read_bytes() == (tmp_path / "2.jar").read_bytes()


def test_belongs_knows_nested_and_companion_classes() -> None:
    assert jars.belongs("kafka/cluster/Partition$.class", "kafka/cluster/Partition.scala")
    assert jars.belongs("kafka/cluster/Partition$$anon$1.class", "kafka/cluster/Partition.scala")
    assert not jars.belongs("kafka/cluster/PartitionState.class", "kafka/cluster/Partition.scala")
