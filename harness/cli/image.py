"""`rackspan image`: makes the container image of a distribution."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.backends.docker import engine
from harness.cli.output import ConsoleProgress, out
from harness.cli.system_packages import JAVA, install
from harness.distribution import container_image as images
from harness.distribution.locate import find


def image(
    distribution: Annotated[
        str, typer.Argument(metavar="rackspan|stock|FOLDER", help="Distribution that the image holds.")
    ] = "rackspan",
) -> None:
    """Make the container image of a distribution without a registry, and print its name."""
    found, progress = find(distribution), ConsoleProgress()
    install([JAVA], progress)
    out.print(images.make(engine(), found, progress), markup=False)
