"""Apply, rebuild and check on a small base: what is accepted, and each thing that is refused."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kpatch import checks, series, worktree
from kpatch.errors import KpatchError
from kpatch.git import git
from kpatch.upstream import Module, Upstream

UP = Upstream("Base", "1", "2", 1, (Module("m", 17, frozenset({"p/Skip.java"}), ()),))
FILES = {
    "p/A.java": "class A {\n    int a;\n    int b;\n}\n",
    "p/NoNewline.java": "class NoNewline {}",
    "p/Skip.java": "class Skip {}\n",
    "p/Made.java": "// THIS CODE IS AUTOMATICALLY GENERATED.\nclass Made {}\n",
    "LICENSE": "x",
}
MESSAGE = "First change\n\nA needs c.\n\nProposal: min.insync.racks\nOrigin: Rackspan\nForwarded: no\n"


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    jar = tmp_path / "m-sources.jar"
    with zipfile.ZipFile(jar, "w") as z:
        for name, text in FILES.items():
            z.writestr(name, text)
    return {"m": jar}


@pytest.fixture
def tree(tmp_path: Path, sources: dict[str, Path]) -> Path:
    where = tmp_path / "work"
    worktree.import_base(where, UP, sources)
    return where


@pytest.fixture
def change(tree: Path) -> Callable[..., None]:
    def commit(
        file: str = "p/A.java", old: str = "    int b;\n", new: str = "    int b;\n    int c;\n", message: str = MESSAGE
    ) -> None:
        path = tree / "m" / file
        path.write_text(path.read_text().replace(old, new))
        git(tree, "commit", "-qam", message)

    return commit


def test_base_holds_sources_only_and_ends_lines(tree: Path) -> None:
    assert git(tree, "ls-files").split() == ["m/p/A.java", "m/p/Made.java", "m/p/NoNewline.java"]
    assert (tree / "m/p/NoNewline.java").read_text() == "class NoNewline {}\n"


def test_round_trip_gives_the_same_patch_and_tree(
    tree: Path, change: Callable[..., None], sources: dict[str, Path], tmp_path: Path
) -> None:
    change()
    patches = tmp_path / "patches"
    assert worktree.rebuild(tree, patches) == ["first-change.patch"]
    assert worktree.rebuild(tree, patches) == []
    text = (patches / "first-change.patch").read_text()
    assert series.parse("first-change.patch", text).files[0].context == 0
    assert checks.check(UP, sources, patches) == []
    again = tmp_path / "again"
    worktree.build(again, UP, sources, patches)
    assert (again / "m/p/A.java").read_text() == (tree / "m/p/A.java").read_text()


def test_a_long_identity_of_the_developer_does_not_show(
    tree: Path, change: Callable[..., None], tmp_path: Path
) -> None:
    change()
    git(tree, "commit", "-q", "--amend", "--no-edit", "--author", f"{'A name ' * 12}<{'long' * 12}@mail.example>")
    worktree.rebuild(tree, tmp_path / "patches")
    lines = (tmp_path / "patches" / "first-change.patch").read_text().splitlines()
    assert lines[1:3] == ["From: Rackspan <rackspan@localhost>", "Subject: First change"]


def test_rebuild_refuses_uncommitted_changes(tree: Path, tmp_path: Path) -> None:
    (tree / "m/p/A.java").write_text("class A {}\n")
    with pytest.raises(KpatchError, match="work tree has uncommitted changes"):
        worktree.rebuild(tree, tmp_path / "patches")


@pytest.fixture
def exported(tree: Path, change: Callable[..., None], tmp_path: Path) -> Path:
    change()
    worktree.rebuild(tree, tmp_path / "patches")
    return tmp_path / "patches"


def _edit(patches: Path, old: str, new: str) -> None:
    file = patches / "first-change.patch"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_stale_patch_is_found(exported: Path, sources: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(sources["m"], "w") as z:
        for name, text in FILES.items():
            z.writestr(name, text.replace("int a;", "long a;"))
    (finding,) = checks.check(UP, sources, exported)
    assert finding.startswith("stale patch first-change.patch: m/p/A.java is blob ")


def test_a_hunk_that_moved_is_found(exported: Path, sources: dict[str, Path]) -> None:
    _edit(exported, "@@ -3,0 +4 @@", "@@ -2,0 +3 @@")
    (finding,) = checks.check(UP, sources, exported)
    assert finding.startswith("fuzzy patch first-change.patch: m/p/A.java became blob ")


def test_context_lines_are_found(exported: Path, sources: dict[str, Path]) -> None:
    _edit(exported, "@@ -3,0 +4 @@ class A {\n", "@@ -3 +3,2 @@ class A {\n     int b;\n")
    assert any("m/p/A.java has 1 context line(s)" in f for f in checks.check(UP, sources, exported))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Proposal: min.insync.racks\n", "", "header lacks Proposal; add the trailer"),
        ("A needs c.\n\n", "", "header gives no reason"),
        ("Subject: First change", "Subject: Other", "file name is not its subject's (other.patch)"),
    ],
)
def test_a_poor_header_is_found(exported: Path, sources: dict[str, Path], old: str, new: str, says: str) -> None:
    _edit(exported, old, new)
    assert any(says in f for f in checks.check(UP, sources, exported))


def test_a_patch_without_header_is_found(exported: Path, sources: dict[str, Path]) -> None:
    file = exported / "first-change.patch"
    file.write_text("\n" + file.read_text()[file.read_text().index("diff --git") :])
    assert any("first-change.patch has no header" in f for f in checks.check(UP, sources, exported))


def test_a_generated_file_is_found(
    tree: Path, change: Callable[..., None], sources: dict[str, Path], tmp_path: Path
) -> None:
    change(file="p/Made.java", old="class Made {}", new="class Made { }")
    worktree.rebuild(tree, tmp_path / "patches")
    (finding,) = checks.check(UP, sources, tmp_path / "patches")
    assert "m/p/Made.java is a generated file" in finding


def test_apply_keeps_what_is_not_exported(
    tree: Path, change: Callable[..., None], sources: dict[str, Path], tmp_path: Path
) -> None:
    worktree.rebuild(tree, tmp_path / "patches")
    change()
    with pytest.raises(KpatchError, match="work tree and patches differ"):
        worktree.apply(UP, sources, tree, tmp_path / "patches")
    assert "First change" in git(tree, "log", "--format=%s")


def test_a_failed_build_leaves_nothing(exported: Path, sources: dict[str, Path], tmp_path: Path) -> None:
    _edit(exported, "+    int c;", "+    int d;")
    with pytest.raises(KpatchError, match="fuzzy patch"):
        worktree.build(tmp_path / "broken", UP, sources, exported)
    assert not (tmp_path / "broken").exists()


def test_a_class_without_its_licence_is_named(tmp_path: Path) -> None:
    (tmp_path / "Good.java").write_text(f"{checks.LICENCE}\nclass Good {{}}\n")
    (tmp_path / "Bare.java").write_text("class Bare {}\n")
    assert checks.licences(tmp_path) == [f"Bare.java: begin it with the line {checks.LICENCE}"]
