"""`rackspan build`: builds the distributions and the load client."""

from __future__ import annotations

from harness.cli.output import ConsoleProgress, out
from harness.cli.system_packages import BUILD, install
from harness.distribution.build import build as build_all
from harness.distribution.locate import KINDS, find


def build() -> None:
    """Build both distributions and the load client, where their sources have changed."""
    progress = ConsoleProgress()
    install(BUILD, progress)
    build_all(progress)
    for kind in KINDS:
        out.print(str(find(kind).home), markup=False)
