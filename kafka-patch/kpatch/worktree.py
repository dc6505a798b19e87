"""The patched source tree: a git repository with one commit for the base and one for each patch."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from kpatch import paths, series, upstream
from kpatch.errors import KpatchError
from kpatch.git import IDENTITY, git

BASE = "base"
_FORMAT = (
    "format-patch", "-1", "--stdout", "-U0", "-k", "--full-index", "--zero-commit", "--no-signature", "--no-stat",
    "--no-renames", "--no-attach", "--no-thread", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


def import_base(where: Path, up: upstream.Upstream, sources: dict[str, Path]) -> None:
    """Makes a repository of the pinned sources: a folder per artifact, one commit, tag `base`.

    `sources` maps an artifact to its official sources jar. Missing newlines at the end of files are added (157 files
    upstream lack one), so that patches need no special marks.
    """
    where.mkdir(parents=True)
    git(where, "init", "-q", "-b", "main")
    for module in up.modules:
        with zipfile.ZipFile(sources[module.artifact]) as jar:
            for name in jar.namelist():
                if name.endswith((".java", ".scala")) and name not in module.skip:
                    data = jar.read(name)
                    target = where / module.artifact / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data if data.endswith(b"\n") else data + b"\n")
    git(where, "add", "-A")
    git(where, "commit", "-q", "-m", f"{up.name} {up.version}")
    git(where, "tag", BASE)


def apply_patch(where: Path, patch: series.Patch, text: str) -> None:
    """Applies one patch and commits it. Strict: every blob before and after must be the one that the patch names."""
    for f in patch.files:
        observed = git(where, "rev-parse", "-q", "--verify", f"HEAD:{f.path}", ok=False).strip() or "0" * 40
        if observed != f.old_blob:
            raise KpatchError(
                f"stale patch {patch.name}",
                f"{f.path} is blob {observed[:12]}, the patch was made against {f.old_blob[:12]}",
                "Apply it by hand in the work tree, commit, then run: gradle rebuildPatches",
            )
    git(where, "apply", "--index", "--unidiff-zero", "--whitespace=nowarn", stdin=text.encode())
    for f in patch.files:
        observed = git(where, "rev-parse", "-q", "--verify", f":{f.path}", ok=False).strip() or "0" * 40
        if observed != f.new_blob:
            raise KpatchError(
                f"fuzzy patch {patch.name}",
                f"{f.path} became blob {observed[:12]}, the patch promises {f.new_blob[:12]}",
                "Run: gradle rebuildPatches in a work tree that holds the change you mean",
            )
    git(where, "commit", "-q", "--no-verify", "-F", "-", stdin=f"{patch.subject}\n\n{patch.body}".encode())


def build(where: Path, up: upstream.Upstream, sources: dict[str, Path], patches: Path = paths.PATCHES) -> None:
    """Base plus all patches in a new folder `where`; on failure the folder is removed again."""
    try:
        import_base(where, up, sources)
        for name in series.read_series(patches):
            text = (patches / name).read_text()
            apply_patch(where, series.parse(name, text), text)
    except BaseException:
        shutil.rmtree(where, ignore_errors=True)
        raise


def export(where: Path) -> dict[str, str]:
    """The patches of a tree, in order: file name -> text, one per commit above `base`."""
    result: dict[str, str] = {}
    for commit in git(where, "rev-list", "--reverse", f"{BASE}..HEAD").split():
        subject = git(where, "show", "-s", "--format=%s", commit).strip()
        name = series.slug(subject)
        if name in result:
            raise KpatchError("two commits give one patch name", name, "Squash them or give one another subject")
        # Who committed when in the work tree must not show: the same change gives the same patch on any machine.
        text = git(where, *_FORMAT, commit)
        text = re.sub(r"^Date: .*\n", "", text, count=1, flags=re.MULTILINE)
        name_, mail = IDENTITY
        # git folds a long identity onto lines that begin with a space.
        result[name] = re.sub(r"^From: .*(?:\n .*)*$", f"From: {name_} <{mail}>", text, count=1, flags=re.MULTILINE)
    return result


def apply(
    up: upstream.Upstream, sources: dict[str, Path], work: Path = paths.WORK, patches: Path = paths.PATCHES
) -> str:
    """`applyPatches`: (re)makes the developer's tree. Refuses to discard what the patches do not hold."""
    if work.exists():
        if dirty := git(work, "status", "--porcelain").strip():
            raise KpatchError(
                "work tree has uncommitted changes", dirty.splitlines()[0], f"Commit them in {work.name}/, then rebuild"
            )
        if export(work) != _on_disk(patches):
            raise KpatchError(
                "work tree and patches differ",
                f"commits above {BASE} in {work.name}/ differ from patches/",
                f"Run: gradle rebuildPatches to keep the commits, or delete {work.name}/ to drop them",
            )
    new = work.with_name(work.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    build(new, up, sources, patches)
    shutil.rmtree(work, ignore_errors=True)
    new.rename(work)
    return git(work, "log", "--oneline", "--no-decorate").strip()


def rebuild(work: Path = paths.WORK, patches: Path = paths.PATCHES) -> list[str]:
    """`rebuildPatches`: writes the tree's commits to the patch folder; returns the names of files that changed."""
    if not work.exists():
        raise KpatchError("no work tree", f"{work.name}/ is missing", "Run: gradle applyPatches")
    if dirty := git(work, "status", "--porcelain").strip():
        raise KpatchError("work tree has uncommitted changes", dirty.splitlines()[0], "Commit them there first")
    new = export(work)
    old = _on_disk(patches)
    patches.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=patches.parent) as aside:
        for name, text in {**new, "series": "".join(f"{n}\n" for n in new)}.items():
            file = Path(aside) / name
            file.write_text(text)
            file.replace(patches / name)
    for name in old.keys() - new.keys():
        (patches / name).unlink()
    return sorted(n for n in old.keys() | new.keys() if old.get(n) != new.get(n))


def _on_disk(patches: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in patches.glob("*.patch")}
