"""The command's entry point: registers the verbs, turns errors into text and exit codes."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from typing import NoReturn

import typer

from harness.cli import (
    bench,
    build,
    doctor,
    down,
    env,
    execute,
    fault,
    image,
    logs,
    ls,
    nodes,
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
from harness.common import process_tree
from harness.common.errors import Exit, RackspanError, environment_error
from harness.distribution.jdk import use_jdk
from harness.network import namespaces

app = typer.Typer(
    name="rackspan",
    help="Kafka clusters in racks on this machine: bring one up, take racks away, see what it does.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("doctor")(doctor.doctor)
app.command("up")(up.up)
app.command("ls")(ls.ls)
app.command("status")(status.status)
app.command("logs")(logs.logs)
app.command("exec", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(execute.execute)
app.command("env")(env.env)
app.command("start")(nodes.start)
app.command("stop")(nodes.stop)
app.command("kill")(nodes.kill)
app.command("pause")(nodes.pause)
app.command("resume")(nodes.resume)
app.command("down")(down.down)
app.command("build")(build.build)
app.command("image")(image.image)
app.command("test")(test.test)
app.command("run")(run.run)
app.command("bench")(bench.bench)
app.command("soak")(soak.soak)
app.command("report")(report.report)
app.command("verify-base")(verify_base.verify_base)
app.command("verify-stock")(verify_stock.verify_stock)
app.add_typer(patch.patch, name="patch")
app.add_typer(fault.fault, name="fault")


def main() -> NoReturn:
    """Runs the command; ends with the exit code."""
    namespaces.may_restart = True
    process_tree.end_on_signals()
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
        sys.exit(_disk_full(e) if getattr(e, "errno", None) in (errno.ENOSPC, errno.EDQUOT) else _own_defect(e))
    sys.exit(Exit.OK)


def _no_more_output() -> None:
    """What is left to be written would fail as well: Python would complain once more at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _disk_full(error: Exception) -> int:
    _no_more_output()
    full = environment_error("a disk is full", observed=str(error), do="make room on it (see `df`), then run it again")
    print(f"error: {full}", file=sys.stderr)
    return full.code


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
