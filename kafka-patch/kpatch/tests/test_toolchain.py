"""Comparison of classes in the proof of the tool chain: equal, different, missing and extra ones."""

import zipfile
from pathlib import Path

import pytest

from kpatch import toolchain, upstream


def _compared(folder: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, bytes]) -> toolchain.Comparison:
    with zipfile.ZipFile(folder / "official.jar", "w") as jar:
        for name in ("org/A.class", "org/A$B.class", "org/S.class"):
            jar.writestr(name, b"bytes of " + name.encode())
    for name in ("org/A.java", "org/S.scala"):
        (folder / "src" / "m" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "src" / "m" / name).touch()
    for name, data in made.items():
        (folder / "classes" / "m" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "classes" / "m" / name).write_bytes(data)
    monkeypatch.setattr(upstream, "official", lambda artifact: folder / "official.jar")
    return toolchain._compare(upstream.Module("m", 17, frozenset(), ()), folder)


SAME = {name: b"bytes of " + name.encode() for name in ("org/A.class", "org/A$B.class", "org/S.class")}


def test_equal_classes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _compared(tmp_path, monkeypatch, SAME) == toolchain.Comparison("m", 3, (), (), (), ())


def test_differences_are_those_of_java_or_of_scala_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = SAME | {"org/A$B.class": b"other", "org/S.class": b"other"}
    found = _compared(tmp_path, monkeypatch, made)
    assert (found.java_differ, found.scala_differ) == (("org/A$B.class",), ("org/S.class",))


def test_only_tables_of_switches_of_java_sources_are_no_extra_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = b"... $SwitchMap$org$E ..."
    made = SAME | {"org/A$1.class": table, "org/A$2.class": b"", "org/S$1.class": table, "org/A$C.class": table}
    del made["org/A$B.class"]
    found = _compared(tmp_path, monkeypatch, made)
    assert found.switch_tables == ("org/A$1.class",)
    assert found.extra == ("org/A$2.class", "org/A$C.class", "org/S$1.class")
    assert found.missing == ("org/A$B.class",)
