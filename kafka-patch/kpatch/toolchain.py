"""Proof of the tool chain: the unpatched sources, compiled here, give the official classes."""

from __future__ import annotations

import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kpatch import compile as compiler
from kpatch import jars, upstream, worktree

# The official classes carry the lambda numbering of javac 25 (older ones number lambdas of a class in another order).
OFFICIAL_JAVAC = 25
# Javac before 21 makes a class of tables for a switch over an enum also where the enum is in the same source file.
_TABLE_CLASS = re.compile(r"\$\d+\.class$")
_TABLE = b"$SwitchMap$"


@dataclass(frozen=True)
class Comparison:
    """One module: how many classes, and which differ from the official ones or are missing or extra here.

    `switch_tables` are extra classes of Java sources that an older javac makes, and that hold nothing else.
    """

    artifact: str
    total: int
    scala_differ: tuple[str, ...]
    java_differ: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    switch_tables: tuple[str, ...] = ()


def javac_major() -> int:
    """Major version of the javac in use."""
    return int(compiler.javac_version().split(".")[0])


def compare(
    up: upstream.Upstream, sources: dict[str, Path], out: Path, only: list[str], say: compiler.Progress
) -> list[Comparison]:
    """Compiles all sources of the unpatched modules and compares every class with the official one, byte for byte."""
    wanted = upstream.Upstream(
        up.name, up.version, up.scala, up.build, tuple(m for m in up.modules if not only or m.artifact in only)
    )
    shutil.rmtree(out, ignore_errors=True)
    worktree.import_base(out / "src", wanted, sources)
    compiler.compile_tree(out / "src", out / "classes", wanted, complete=True, progress=say, own=())
    return [_compare(m, out) for m in wanted.modules]


def _compare(module: upstream.Module, out: Path) -> Comparison:
    root = out / "src" / module.artifact
    java = {p.relative_to(root).as_posix().removesuffix(".java") for p in root.rglob("*.java")}
    skipped = {s.removesuffix(".java") for s in module.skip}
    made = jars.class_files(out / "classes" / module.artifact)
    with zipfile.ZipFile(upstream.official(module.artifact)) as jar:
        names = {
            n for n in jar.namelist() if n.endswith(".class") and n.split("$")[0].removesuffix(".class") not in skipped
        }
        names = {n for n in names if not n.startswith("org/apache/kafka/shaded/")}
        differ = sorted(n for n in names & made.keys() if jar.read(n) != made[n].read_bytes())
    of_java = tuple(n for n in differ if n.removesuffix(".class").split("$")[0] in java)
    extra = sorted(made.keys() - names)
    tables = tuple(n for n in extra if n.split("$")[0] in java and _is_switch_table(n, made[n]))
    return Comparison(
        module.artifact,
        len(names & made.keys()),
        tuple(n for n in differ if n not in of_java),
        of_java,
        tuple(sorted(names - made.keys())),
        tuple(n for n in extra if n not in tables),
        tables,
    )


def _is_switch_table(name: str, file: Path) -> bool:
    return _TABLE_CLASS.search(name) is not None and _TABLE in file.read_bytes()


def report(up: upstream.Upstream, sources: dict[str, Path], out: Path, only: list[str], say: compiler.Progress) -> str:
    """The comparison as text, one line a module, differing classes listed."""
    lines = [f"javac {javac_major()} (official classes: javac {OFFICIAL_JAVAC}), scalac {up.scala}"]
    for c in compare(up, sources, out, only, say):
        same = c.total - len(c.scala_differ) - len(c.java_differ)
        lines.append(
            f"{c.artifact}: {same} of {c.total} classes byte for byte; "
            f"differ: {len(c.scala_differ)} of Scala sources, {len(c.java_differ)} of Java sources"
        )
        lines += [f"  {n}" for n in (*c.scala_differ, *c.java_differ, *c.missing, *c.extra, *c.switch_tables)]
    return "\n".join(lines)
