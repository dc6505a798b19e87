"""`rackspan patch`: the work on the patches of the distribution."""

from __future__ import annotations

from functools import partial

import typer

from harness.cli import help_format
from harness.cli.output import ConsoleProgress, out
from harness.cli.system_packages import BUILD, install
from harness.distribution.build import gradle

patch = typer.Typer(
    cls=help_format.Group,
    help="List, apply, rebuild and check the patches of the distribution.",
    no_args_is_help=True,
)
_verb = partial(patch.command, cls=help_format.Command, rich_help_panel="Patches")


@_verb("list")
def list_() -> None:
    """List the patches with their proposal, files and size."""
    _print("listPatches", "patches read")


@_verb()
def apply() -> None:
    """Apply the patches to kafka-patch/work: a commit for the base, and one for each patch."""
    _print("applyPatches", "patches applied to kafka-patch/work")


@_verb()
def rebuild() -> None:
    """Write the commits of kafka-patch/work back to kafka-patch/patches."""
    _print("rebuildPatches", "patches rebuilt")


@_verb()
def check() -> None:
    """Check that each patch applies strictly, is up to date, has a valid header and changes no generated file."""
    _print("checkPatches", "patches checked")


def _print(task: str, label: str) -> None:
    progress = ConsoleProgress()
    install(BUILD, progress)
    text = gradle([task], label, progress).strip()
    if text:
        out.print(text, markup=False)
