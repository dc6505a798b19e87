"""Proofs of the tool chain and the build that need not compile all of it; test_real.py compiles all from nothing."""

import hashlib
import os
from pathlib import Path

import pytest

from kpatch import cli, compile, paths, toolchain, upstream

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts"),
]


def test_unpatched_scala_sources_give_the_official_classes(tmp_path: Path) -> None:
    """The module that the optimiser makes hard to reproduce, against the official jars of the others; any javac."""
    up = upstream.load()
    (compared,) = toolchain.compare(up, cli.sources(up), tmp_path / "chain", ["kafka_2.13"], print)
    assert not compared.missing and not compared.extra and not compared.scala_differ
    assert compared.total - len(compared.java_differ) >= 280


def test_packing_the_same_classes_again_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under another umask, and without compiling: the classes at hand were made of these inputs."""
    monkeypatch.setattr(compile, "compile_tree", lambda *a, **k: pytest.fail("compiled"))
    up = upstream.load()
    first = paths.BUILD / "dist" / f"rackspan-kafka_2.13-{up.version}-{up.build}.tgz"
    mark = paths.BUILD / "kafka-classes" / "made-of"
    assert first.is_file() and mark.read_text() == compile.inputs(), "build it first: gradle dist"
    for name in ("kafka-src", "kafka-classes"):
        (tmp_path / name).symlink_to(paths.BUILD / name)
    before = os.umask(0o077)
    try:
        assert cli.main(["build", "--out", str(tmp_path)]) == 0
    finally:
        os.umask(before)
    digests = [hashlib.sha256(p.read_bytes()).hexdigest() for p in (first, tmp_path / "dist" / first.name)]
    assert digests[0] == digests[1]
