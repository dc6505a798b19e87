"""Compiles the patched modules: all sources for a distribution, only touched ones while developing."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kpatch import paths, upstream
from kpatch.errors import KpatchError
from kpatch.git import git

Progress = Callable[[str], None]
_INSTALL = "Install a JDK 17: apt-get install openjdk-17-jdk-headless"
_STRICT = ("-Xlint:all", "-Werror", "-implicit:none")
# javac runs for seconds, most of which optimising its own code would take.
_BRIEF = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")


@dataclass(frozen=True)
class Tools:
    """The compilers: a JDK's javac and java, and the jars of scalac."""

    javac: str
    java: str
    scalac: tuple[Path, ...]


def tools() -> Tools:
    """javac and java of JAVA_HOME, else of PATH; scalac from the verified artifacts."""
    found = []
    for name in ("javac", "java"):
        home = os.environ.get("JAVA_HOME")
        path = f"{home}/bin/{name}" if home and Path(home, "bin", name).exists() else shutil.which(name)
        if not path:
            raise KpatchError("no JDK", f"{name} is not on PATH", _INSTALL)
        found.append(path)
    return Tools(found[0], found[1], tuple(a.file for a in upstream.artifacts("scalac")))


def inputs() -> str:
    """The digest of everything that the classes of a full build depend on: sources, patches, libraries, compilers."""
    found = hashlib.sha256((paths.KAFKA_PATCH / "upstream.toml").read_bytes())
    for role in ("sources", "runtime", "scalac"):
        found.update("".join(f"{role} {a.file.name} {a.sha256}\n" for a in upstream.artifacts(role)).encode())
    steps = [Path(__file__).with_name(f"{name}.py") for name in ("compile", "git", "series", "worktree")]
    own = [p for folder in (paths.PATCHES, paths.OWN) for p in sorted(folder.rglob("*")) if p.is_file()]
    for file in [*steps, *own]:
        found.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    found.update(f"javac {javac_version()}\n".encode())
    return found.hexdigest()


def javac_version() -> str:
    """The version of the javac in use, as "17.0.15", without the warnings that a JVM may write beside it."""
    javac = tools().javac
    done = subprocess.run([javac, "-version"], capture_output=True, text=True)
    version = re.search(r"^javac (\S+)$", done.stdout + done.stderr, re.MULTILINE)
    if done.returncode != 0 or version is None:
        observed = f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[:200]}"
        raise KpatchError(f"{javac} -version failed", observed, _INSTALL)
    return version[1]


def touched(tree: Path) -> set[str]:
    """Paths (artifact/package/File) that differ from the base, uncommitted edits included."""
    names = git(tree, "diff", "--name-only", "--no-renames", "base").split()
    names += git(tree, "ls-files", "--others", "--exclude-standard").split()
    return {n for n in names if n.endswith((".java", ".scala"))}


def compile_tree(
    tree: Path,
    out: Path,
    up: upstream.Upstream,
    *,
    complete: bool,
    progress: Progress,
    own: Collection[Path] | None = None,
) -> None:
    """Compiles a source tree into `out/<artifact>/`.

    `complete`: every source of every module; else only files that differ from the base (and our own classes), against
    the official classes. `own`: files of our own classes, all of them if None. Fails on the first compiler error with
    the compiler's own text.
    """
    tool = tools()
    official = upstream.runtime()
    changed = touched(tree)
    shutil.rmtree(out, ignore_errors=True)
    ready: list[Path] = []
    for module in up.modules:
        sources = sorted(p for p in (tree / module.artifact).rglob("*") if p.suffix in (".java", ".scala"))
        sources = [p for p in sources if p.relative_to(tree / module.artifact).as_posix() not in module.skip]
        if not complete:
            sources = [p for p in sources if p.relative_to(tree).as_posix() in changed]
        ours = [file for file in sorted(module.own.rglob("*.java")) if own is None or file in own]
        target = out / module.artifact
        target.mkdir(parents=True)
        begin = time.monotonic()
        if sources or ours:
            _compile_module(tool, module, sources, ours, target, [*ready, *official])
            progress(f"{module.artifact}: {len(sources) + len(ours)} sources in {time.monotonic() - begin:.1f} s")
        ready.append(target)


def compile_strict(what: str, sources: list[Path], target: Path, path: Iterable[Path], *but: str) -> None:
    """Compiles sources of our own that belong to no upstream module, under the strict rules `but` some lints."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    _javac(tools(), what, 17, target, path, [*_STRICT, *(f"-Xlint:-{b}" for b in but)], sources)


def _compile_module(
    tool: Tools, module: upstream.Module, sources: list[Path], ours: list[Path], target: Path, path: Iterable[Path]
) -> None:
    path = [target, *path]
    java = [p for p in [*sources, *ours] if p.suffix == ".java"]
    scala = [p for p in sources if p.suffix == ".scala"]
    if scala:
        # scalac reads the Java sources of a mixed module for their signatures; javac then compiles them.
        _run(
            module.artifact,
            [tool.java, "-Xss8m", "-Xmx3g", "-cp", _join(tool.scalac), "scala.tools.nsc.Main", "-nobootcp"],
            ["-cp", _join(path), "-d", target, "-nowarn", *_scalac_options(module)],
            [*scala, *java],
        )
    _javac(tool, module.artifact, module.release, target, path, ["-nowarn"], java)
    # Ours once more under the strict rules; upstream's own sources do not pass them.
    _javac(tool, module.artifact, module.release, target, path, _STRICT, ours)


def _javac(
    tool: Tools,
    what: str,
    release: int,
    target: Path,
    path: Iterable[Path],
    more: Sequence[str],
    sources: list[Path],
) -> None:
    options = ["-proc:none", "-g", "--release", release, "-encoding", "UTF-8", "-d", target, "-cp", _join(path), *more]
    _run(what, [tool.javac, *_BRIEF], options, sources)


def _scalac_options(module: upstream.Module) -> list[object]:
    threads = os.cpu_count() or 1
    return ["-release", module.release, "-encoding", "utf8", *module.scalac, "-Ybackend-parallelism", threads]


def _join(path: Iterable[Path]) -> str:
    return os.pathsep.join(str(p) for p in path)


def _run(what: str, command: list[str], options: list[object], sources: list[Path]) -> None:
    if not sources:
        return
    done = subprocess.run(
        [*command, *map(str, options), *map(str, sources)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        observed = (done.stderr + done.stdout).strip()
        raise KpatchError(f"{what} does not compile", observed[-6000:], "Correct the sources in the work tree")
