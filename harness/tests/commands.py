"""Runs the `rackspan` command as a user does: as a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from multiprocessing import forkserver
from pathlib import Path

from harness.backends.local import LocalBackend

PROGRAM = [sys.executable, "-m", "harness"]
# A process that has imported the command forks for each use of it: imports are most of what a use costs.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["harness.cli.app", "harness.tests.commands"])


def be_ready() -> None:
    """Starts what `rackspan` forks from; in the network that this process is in now."""
    forkserver.ensure_running()


def rackspan(*args: str, home: Path, seconds: float = 90) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end. Raises TimeoutExpired."""
    with tempfile.TemporaryDirectory(prefix="rackspan-command-") as folder:
        files = [Path(folder, "out"), Path(folder, "err")]
        process = _FORKS.Process(target=_forked, args=(args, environment(home), Path.cwd(), files))
        process.start()
        try:
            process.join(seconds)
            if process.exitcode is None:
                raise subprocess.TimeoutExpired([*PROGRAM, *args], seconds)
        finally:
            process.kill()
            process.join()
        out, err = (file.read_text(encoding="utf-8") for file in files)
        return subprocess.CompletedProcess([*PROGRAM, *args], process.exitcode, out, err)


def without_start(line: str, home: Path, seconds: float) -> subprocess.CompletedProcess[str] | None:
    """Runs a line of a document by `rackspan`; None if it is another program, or one that only a shell can read."""
    if not re.fullmatch(r"\./rackspan ([^'\"$`|&;<>*?~#\\]|'[^']*')+", line):
        return None
    return rackspan(*shlex.split(line)[1:], home=home, seconds=seconds)


def _forked(args: tuple[str, ...], env: dict[str, str], folder: Path, files: list[Path]) -> None:
    """Becomes the command: its arguments, environment, folder and output."""
    from harness.cli.app import main

    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv, sys.orig_argv = [PROGRAM[-1], *args], [*PROGRAM, *args]
    main()


def begin(*args: str, home: Path, background: bool = False) -> subprocess.Popen[str]:
    """Begins the command, in a session of its own; or as `nohup rackspan ... &` in a script does."""
    return subprocess.Popen(
        [*PROGRAM, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
        start_new_session=True,
        preexec_fn=in_background if background else None,
    )


def in_background() -> None:
    """Runs in a new process: a shell has what it starts in the background ignore SIGINT, and nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def environment(home: Path) -> dict[str, str]:
    """This process' environment with that state home; columns wide enough that no cell is folded."""
    return os.environ | {"RACKSPAN_HOME": str(home), "COLUMNS": "300"}


def processes(home: Path, cluster: str) -> int:
    """Number of processes of a cluster."""
    return len(LocalBackend().leftovers(str(home / "clusters" / cluster)))
