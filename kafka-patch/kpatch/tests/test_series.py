"""Patch files: names, headers, what a parser must see."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kpatch import series
from kpatch.errors import KpatchError

PATCH = """From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: Rackspan <rackspan@localhost>
Subject: a subject

Because.

Proposal: min.insync.racks
Origin: Rackspan
Forwarded: no

diff --git a/m/A.java b/m/A.java
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/m/A.java
+++ b/m/A.java
@@ -3 +3,2 @@ class A {
-    int x;
+    int y;
+    ++ not a header
"""


def test_parse_reads_header_and_counts() -> None:
    patch = series.parse("a-subject.patch", PATCH)
    assert patch.subject == "a subject"
    assert patch.trailers == {"Proposal": "min.insync.racks", "Origin": "Rackspan", "Forwarded": "no"}
    (file,) = patch.files
    assert (file.path, file.added, file.removed, file.context) == ("m/A.java", 2, 1, 0)
    assert file.old_blob == "1" * 40 and file.new_blob == "2" * 40


def test_context_lines_are_counted() -> None:
    text = PATCH.replace("@@ -3 +3,2 @@ class A {\n", "@@ -2,2 +2,3 @@\n class A {\n")
    assert series.parse("a-subject.patch", text).files[0].context == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", "a.patch is not a patch: no line starts with 'diff --git'"),
        (PATCH.replace("From 0", "Fram 0", 1), "a.patch has no header: first line is 'Fram 0"),
        (PATCH.replace("Subject", "Sujet"), "a.patch has no header: there is no Subject line"),
        (PATCH.replace("1" * 40, "1111111"), "a.patch lacks full blob ids: at m/A.java"),
    ],
)
def test_what_is_not_a_patch_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(KpatchError) as e:
        series.parse("a.patch", text)
    assert str(e.value).startswith(says)


@given(st.text(min_size=1, max_size=60))
def test_slug_is_a_plain_file_name(subject: str) -> None:
    name = series.slug(subject)
    assert name.endswith(".patch") and "/" not in name and name == name.lower() and " " not in name


def test_series_names_exactly_the_files(tmp_path: Path) -> None:
    with pytest.raises(KpatchError, match="no patch series"):
        series.read_series(tmp_path)
    (tmp_path / "series").write_text("# order\none.patch\n")
    with pytest.raises(KpatchError, match=r"series names a missing patch: one\.patch"):
        series.read_series(tmp_path)
    (tmp_path / "one.patch").write_text(PATCH)
    assert series.read_series(tmp_path) == ["one.patch"]
    (tmp_path / "two.patch").write_text(PATCH)
    with pytest.raises(KpatchError, match=r"patch is not in series: two\.patch"):
        series.read_series(tmp_path)
