"""Which of our own classes a prefix of the series is compiled with; test_real.py compiles all prefixes."""

from pathlib import Path

import pytest

from kpatch import compile, paths, prefixes, upstream
from kpatch.errors import KpatchError


def _classes(folder: Path, **texts: str) -> list[Path]:
    for name, text in texts.items():
        (folder / f"{name}.java").write_text(text)
    return sorted(folder.glob("*.java"))


def test_a_prefix_has_the_classes_that_it_names_and_those_that_they_name(tmp_path: Path) -> None:
    own = _classes(
        tmp_path, Gate="class Gate { Span span; }", Span="class Span { }", Later="class Later { Gate gate; }"
    )
    found = prefixes.needed("+  val gate = new io.rackspan.cluster.Gate\n", own)
    assert {file.stem for file in found} == {"Gate", "Span"}


def test_a_class_that_only_a_comment_names_is_not_needed(tmp_path: Path) -> None:
    own = _classes(
        tmp_path, Gate="/** See {@link Span}. */ class Gate { // not Later\n}", Span="class Span {}", Later=""
    )
    assert {file.stem for file in prefixes.needed("+ new Gate", own)} == {"Gate"}


def test_a_part_of_a_word_names_no_class(tmp_path: Path) -> None:
    assert not prefixes.needed("+ val gateHolder = Gates", _classes(tmp_path, Gate="class Gate {}"))


@pytest.mark.skipif(not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts")
def test_a_prefix_that_does_not_compile_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KpatchError("kafka-clients does not compile", "Cluster.java:1: error", "Correct it")

    monkeypatch.setattr(compile, "compile_tree", broken)
    up = upstream.load()
    with pytest.raises(KpatchError) as e:
        prefixes.check(up, {m.artifact: upstream.official(m.artifact, "sources") for m in up.modules}, tmp_path, print)
    assert "the series does not compile up to rackspan-version.patch" in str(e.value)
    assert "Cluster.java:1: error" in str(e.value)
