"""`rackspan patch`: the loop of a patch developer."""

from __future__ import annotations

import typer

from harness.cli.output import ConsoleProgress, out
from harness.cli.system_packages import BUILD, install
from harness.distribution.build import gradle

patch = typer.Typer(help="The patches of the distribution: list, apply, rebuild, check.", no_args_is_help=True)


@patch.command("list")
def list_() -> None:
    """List patches: proposal, files, size."""
    _print("listPatches", "patches read")


@patch.command()
def apply() -> None:
    """Make kafka-patch/work: a commit for the base, one for each patch."""
    _print("applyPatches", "patches applied to kafka-patch/work")


@patch.command()
def rebuild() -> None:
    """Write the commits of kafka-patch/work back to kafka-patch/patches."""
    _print("rebuildPatches", "patches rebuilt")


@patch.command()
def check() -> None:
    """Fail on a stale or fuzzy patch, a bad header, context lines, a generated file."""
    _print("checkPatches", "patches checked")


def _print(task: str, label: str) -> None:
    progress = ConsoleProgress()
    install(BUILD, progress)
    text = gradle([task], label, progress).strip()
    if text:
        out.print(text, markup=False)
