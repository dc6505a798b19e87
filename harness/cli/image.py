"""`rackspan image`: the image of a distribution, for containers."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.backends.docker import engine
from harness.cli.output import ConsoleProgress, out
from harness.cli.system_packages import JAVA, install
from harness.distribution import container_image as images
from harness.distribution.locate import find


def image(distribution: Annotated[str, typer.Argument(help="rackspan, stock, or a folder.")] = "rackspan") -> None:
    """Make the image of a distribution from programs of this machine, without a registry; print its name."""
    found, progress = find(distribution), ConsoleProgress()
    install([JAVA], progress)
    out.print(images.make(engine(), found, progress), markup=False)
