"""`rackspan package`: writes the Debian package and the bill of materials of the rackspan distribution."""

from __future__ import annotations

from harness.cli.output import ConsoleProgress, out
from harness.cli.system_packages import BUILD, DEBIAN, install
from harness.distribution.build import package as package_all


def package() -> None:
    """Write the Debian package and the bill of materials beside the archive, and print their paths."""
    progress = ConsoleProgress()
    install([*BUILD, DEBIAN], progress)
    for file in package_all(progress):
        out.print(str(file), markup=False)
