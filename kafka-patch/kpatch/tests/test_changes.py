"""The list of changed classes: what is in it, and that anything else that differs is refused."""

import zipfile
from pathlib import Path

import pytest

from kpatch import changes, paths, upstream
from kpatch.errors import KpatchError

MODULE = upstream.Module("kafka-clients", 11, frozenset(), ())
UP = upstream.Upstream("Kafka", "1", "2.13", 1, (MODULE,))
PATCH = """From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A <a@b>
Subject: P one

Why.
---
diff --git a/kafka-clients/p/A.java b/kafka-clients/p/A.java
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/kafka-clients/p/A.java
+++ b/kafka-clients/p/A.java
@@ -1 +1 @@
-a
+b
"""


def _jar(file: Path, **entries: bytes) -> Path:
    file.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(file, "w") as z:
        for name, data in entries.items():
            z.writestr(name.replace("_", "/") + (".class" if name != "NOTICE" else ""), data)
    return file


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of four classes, a jar that may not be patched, one patch, one class of our own."""
    official = [
        _jar(tmp_path / "official" / "kafka-clients.jar", p_A=b"A", p_B=b"B", p_C=b"C from A.java", NOTICE=b"n"),
        _jar(tmp_path / "official" / "other.jar", p_X=b"X"),
    ]
    found = [upstream.Artifact("g", f.stem, "1", "", ("runtime",), "", f) for f in official]
    monkeypatch.setattr(upstream, "artifacts", lambda role: found)
    own = tmp_path / "own" / "kafka-clients" / "java" / "io"
    own.mkdir(parents=True)
    (own / "Own.java").touch()
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "p-one.patch").write_text(PATCH)
    (patches / "series").write_text("p-one.patch\n")
    monkeypatch.setattr(paths, "PATCHES", patches)
    monkeypatch.setattr(paths, "OWN", tmp_path / "own")
    _jar(tmp_path / "libs" / "other.jar", p_X=b"X").write_bytes(official[1].read_bytes())
    return tmp_path


def test_each_class_is_listed_with_its_patches(base: Path) -> None:
    classes = {"p_A": b"new", "p_A$1": b"nested", "p_B": b"inlined", "p_C": b"new C from A.java", "io_Own": b"o"}
    _jar(base / "libs" / "kafka-clients.jar", **classes, NOTICE=b"n")
    assert changes.text(UP, base / "libs").splitlines()[1:] == [
        "kafka-clients io/Own: own class",
        "kafka-clients p/A$1: p-one",
        "kafka-clients p/A: p-one",
        "kafka-clients p/B: follows from others",
        "kafka-clients p/C: p-one",
    ]


def test_what_may_not_differ_is_refused(base: Path) -> None:
    _jar(base / "libs" / "kafka-clients.jar", p_A=b"A", p_B=b"B", NOTICE=b"other")
    _jar(base / "libs" / "other.jar", p_X=b"Y")
    _jar(base / "libs" / "more.jar", p_X=b"Y")
    with pytest.raises(KpatchError) as e:
        changes.text(UP, base / "libs")
    assert e.value.observed.split("\n  ")[1:] == [
        "more.jar: no official jar",
        "kafka-clients.jar: p/C.class is missing",
        "kafka-clients.jar: NOTICE is not the official one",
        "other.jar: differs from the official jar, and is none that may be patched",
    ]


def test_a_class_more_or_less_is_reported_with_what_to_do(tmp_path: Path) -> None:
    listed = tmp_path / "changed-classes.txt"
    listed.write_text("# head\nm p/A: p-one\nm p/B: p-one\n")
    with pytest.raises(KpatchError) as e:
        changes.check("# head\nm p/A: p-one\nm p/C: follows from others\n", listed)
    assert e.value.observed.split("\n  ")[1:] == ["+ m p/C: follows from others", "- m p/B: p-one"]
    assert "gradle listChanges, and commit changed-classes.txt with the patch" in e.value.todo
    changes.check(listed.read_text(), listed)
