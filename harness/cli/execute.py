"""`rackspan exec`: runs a command on a node's host."""

from __future__ import annotations

import os
import subprocess
from typing import Annotated

import typer

from harness.cli.env import environment
from harness.cli.options import ClusterOption, chosen, complete_target

SETTINGS = {"ignore_unknown_options": True}  # they are the command's own


def execute(
    node: Annotated[
        str,
        typer.Argument(
            metavar="NODE", help="Node on whose host the command runs, as a1.", autocompletion=complete_target
        ),
    ],
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="The command and its arguments.")],
    cluster: ClusterOption = None,
) -> None:
    """Run a command on a node's host, in its folder, with the tools on PATH and NODE, RACK, ADDRESS, BOOTSTRAP set."""
    found = chosen(cluster)
    on = found.node(node)
    values = environment(found)
    values |= {"NODE": node, "RACK": on.node.rack, "ADDRESS": on.node.endpoint}
    values |= {"KAFKA_HOME": str(on.distribution.home), "PATH": str(on.distribution.home / "bin")}
    values["PATH"] += os.pathsep + os.environ.get("PATH", os.defpath)
    script = 'cd "$1" && shift && exec "$@"'
    argv = on.host.argv(
        ["env", *(f"{k}={v}" for k, v in values.items()), "sh", "-c", script, "sh", on.host.root, *command]
    )
    raise typer.Exit(subprocess.run(argv).returncode)
