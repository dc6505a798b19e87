"""Suites and paths of system tests that a user names, and the files and folders that these stand for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from harness.common.errors import usage_error
from harness.common.paths import project_root

CLIENT_TESTS = ("third_party_clients", "frameworks")  # folders of tests that run clients which are built first


def path_in_project(path: str | Path) -> str:
    """The path of a suite or test as ducktape wants it: below the project, from there. Raises RackspanError."""
    text, mark, method = str(path).partition("::")
    file = Path(text) if Path(text).exists() else project_root() / text
    if not file.exists():
        known = sorted(p.name for p in (project_root() / "system_tests" / "suites").glob("*.yml"))
        near = project_root() / "system_tests" / "suites" / f"{text}.yml"
        if not near.exists():
            raise usage_error(
                f"system tests {text!r} not found",
                observed="no such file or folder",
                do=f"name a suite ({', '.join(name.removesuffix('.yml') for name in known)}), a folder, a file or "
                "file::Class.method",
            )
        file = near
    resolved = file.resolve()
    if not resolved.is_relative_to(project_root()):
        raise usage_error(
            f"cannot run {text}", observed=f"it is not below {project_root()}", do="name tests of the project"
        )
    return str(resolved.relative_to(project_root())) + mark + method


def chosen_tests(suites: Sequence[str]) -> list[Path]:
    """The files and folders of the project that suites and tests name, absolute. Raises RackspanError."""
    found: list[Path] = []
    for name in suites:
        path = project_root() / path_in_project(name).partition("::")[0]
        if path.suffix in (".yml", ".yaml"):
            entries = [entry for part in yaml.safe_load(path.read_text()).values() for entry in part]
            found += [(path.parent / entry.partition("::")[0]).resolve() for entry in entries]
        else:
            found.append(path)
    return found


def include(chosen: Sequence[Path], *folders: str) -> bool:
    """Checks whether chosen tests are in one of these folders of the system tests, or are a folder that one is in."""
    wanted = [project_root() / "system_tests" / folder for folder in folders]
    return any(path.is_relative_to(w) or w.is_relative_to(path) for path in chosen for w in wanted)
