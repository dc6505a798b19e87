"""`rackspan --version`."""

from __future__ import annotations

import tomllib
from typing import Any

import typer

from harness.cli.output import out
from harness.common.paths import project_root


def version() -> str:
    """Versions of Rackspan and of the Kafka that its patches are for."""
    project = _toml("pyproject.toml")["project"]
    base = _toml("kafka-patch/upstream.toml")
    return f"rackspan {project['version']}, based on {base['name']} {base['version']}"


def print_version(requested: bool) -> None:
    """Prints the versions and ends the command, if requested."""
    if requested:
        out.print(version(), markup=False)
        raise typer.Exit


def _toml(path: str) -> dict[str, Any]:
    return tomllib.loads((project_root() / path).read_text(encoding="utf-8"))
