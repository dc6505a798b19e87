"""The command's entry point: registers the verbs, turns errors into text and exit codes."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from harness.cli import (
    bench,
    build,
    check,
    doctor,
    down,
    env,
    execute,
    fault,
    help_format,
    image,
    logs,
    ls,
    nodes,
    package,
    patch,
    report,
    run,
    soak,
    status,
    test,
    up,
    verify_base,
    verify_stock,
)
from harness.cli.output import announce_end
from harness.cli.version import print_version
from harness.common import process_tree
from harness.common.errors import Exit, RackspanError, environment_error
from harness.common.paths import state_home
from harness.distribution.jdk import use_jdk
from harness.network import namespaces

EXIT_CODES = """Exit codes: 0 success; 1 failed; 2 usage error; 3 timed out, or the result is unknown;
4 this machine lacks something that is needed; 5 a defect of rackspan itself; 130 interrupted."""

app = typer.Typer(
    name="rackspan",
    cls=help_format.Group,
    help="Run Kafka clusters in racks, take racks away, and record what the clusters do.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def rackspan(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=print_version,
            is_eager=True,
            help="Print the versions of Rackspan and of the Kafka that it is based on, and exit.",
        ),
    ] = False,
) -> None:
    pass


VERBS: dict[str, dict[str, Callable[..., None]]] = {
    help_format.CLUSTERS: {
        "doctor": doctor.doctor,
        "up": up.up,
        "ls": ls.ls,
        "status": status.status,
        "logs": logs.logs,
        "exec": execute.execute,
        "env": env.env,
        "down": down.down,
    },
    help_format.NODES: {
        "start": nodes.start,
        "stop": nodes.stop,
        "kill": nodes.kill,
        "pause": nodes.pause,
        "resume": nodes.resume,
    },
    help_format.EXPERIMENTS: {
        "run": run.run,
        "bench": bench.bench,
        "soak": soak.soak,
        "report": report.report,
        "check": check.check,
    },
    help_format.MAINTAINERS: {
        "build": build.build,
        "package": package.package,
        "image": image.image,
        "test": test.test,
        "verify-stock": verify_stock.verify_stock,
        "verify-base": verify_base.verify_base,
    },
}
SETTINGS = {"exec": execute.SETTINGS}

for panel, verbs in VERBS.items():
    for name, verb in verbs.items():
        settings = SETTINGS.get(name)
        app.command(name, cls=help_format.Command, rich_help_panel=panel, context_settings=settings)(verb)
app.add_typer(fault.fault, name="fault", rich_help_panel=help_format.NODES)
app.add_typer(patch.patch, name="patch", rich_help_panel=help_format.MAINTAINERS)


def main() -> NoReturn:
    """Runs the command; ends with the exit code."""
    namespaces.may_restart = True
    process_tree.end_on_signals(announce_end)
    use_jdk()
    try:
        app(prog_name="rackspan")
    except RackspanError as e:
        print(f"error: {e}", file=sys.stderr)
        sys.exit(e.code)
    except BrokenPipeError:
        _no_more_output()
        sys.exit(Exit.FAILED)
    except Exception as e:  # the last resort: whatever it is, it is ours
        sys.exit(_of_the_machine(e) or _own_defect(e))
    sys.exit(Exit.OK)


def _no_more_output() -> None:
    """Drops what is still to be written, which would fail as well: Python would complain once more at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _of_the_machine(error: Exception) -> int:
    """The exit code of an error whose cause is this machine, once it is printed; 0 for any other."""
    if not isinstance(error, OSError):
        return 0
    own = environment_error("a disk is full", observed=str(error), do="make room on it (see `df`), then run it again")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        _no_more_output()
    elif error.filename is not None and Path(os.fsdecode(error.filename)).is_relative_to(state_home()):
        own = environment_error(
            f"cannot use {state_home()}, where clusters are kept",
            observed=str(error),
            do="set RACKSPAN_HOME to a folder that you may write to",
        )
    else:
        return 0
    print(f"error: {own}", file=sys.stderr)
    return own.code


def _own_defect(error: Exception) -> int:
    with tempfile.NamedTemporaryFile("w", prefix="rackspan-defect-", suffix=".txt", delete=False) as f:
        f.write(f"{sys.argv}\n\n")
        traceback.print_exception(error, file=f)
    own = RackspanError(
        "this is a defect of rackspan itself",
        observed=f"{type(error).__name__}: {error}",
        do=f"report it with {f.name}",
        code=Exit.DEFECT,
    )
    print(f"error: {own}", file=sys.stderr)
    return own.code
