"""A proof of the build that compiles nothing; test_real.py compiles all from nothing."""

import hashlib
import os
from pathlib import Path

import pytest

from kpatch import cli, compile, paths, upstream

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts"),
]


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
