"""Both commands of the README on a machine that has nothing: a fresh Debian, as root and as an ordinary user.

    python -m harness.tests.empty_machine [--as root|user] [--command "./rackspan test"] [--results FOLDER]

Needs root and debootstrap (exit code 4 without). The last commit is cloned into a home; commands run as in a script's
background. An ordinary user's machine gets exactly the packages that the first command names. Everything is removed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from junitparser import Failure, JUnitXml, TestCase, TestSuite

from harness.cli.stage_list import SHORT
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.common.process_tree import end_on_signals
from harness.tests.machine_root import MachineRoot, Ran, make_root

COMMANDS = ("./rackspan test", f"./rackspan run {' '.join(SHORT)}")
USERS = ("root", "user")
NAMED = re.compile(r"sudo apt-get install ([^)]+)\)")
HOURS = 2.0


class Steps:
    """The commands that were run, with time and result, as JUnit's test cases."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.suite = TestSuite("empty machine")

    @contextmanager
    def step(self, name: str) -> Iterator[Path]:
        """Gives the file for the step's output; a RackspanError in the block is the step's failure."""
        case = TestCase(name, "empty_machine")
        log = self.results / f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')[:80]}.log"
        print(f"{name} ...", flush=True)
        begin = time.monotonic()
        try:
            yield log
        except BaseException as e:
            reason = str(e) or type(e).__name__
            case.result = [Failure(reason)]
            print(f"{name}: failed: {reason}\n  complete log: {log}", flush=True)
            raise
        finally:
            case.time = time.monotonic() - begin
            self.suite.add_testcase(case)
            self.write()
        print(f"{name}: passed ({case.time:.0f} s)", flush=True)

    def write(self) -> None:
        """Writes what is known by now."""
        found = JUnitXml("empty machine")
        found.add_testsuite(self.suite)
        found.write(str(self.results / "junit.xml"))


def try_as(user: str, machine: MachineRoot, commands: Sequence[str], steps: Steps, seconds: float) -> int:
    """Runs the commands in a clone in the user's home; the number of those that failed."""
    home = "/root" if user == "root" else f"/home/{user}"
    place = f"{home}/rackspan"
    with steps.step(f"{user}: clone") as log:
        if user != "root":
            machine.add_user(user, log)
        clone = f"git clone --quiet /srv/rackspan.git {place}"
        succeeded(machine.run(["bash", "-c", f"{clone} && chown -R {user}: {place}"], log), "the clone")
    if user != "root":
        with steps.step(f"{user}: the first command names what to install") as log:
            ran = machine.run(["bash", "-c", commands[0]], log, user=user, place=place)
            packages = named(ran)
        with steps.step(f"root installs {' '.join(packages)}") as log:
            install = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"
            succeeded(
                machine.run(["bash", "-c", f"DEBIAN_FRONTEND=noninteractive; {install}"], log, seconds=1800), "apt"
            )
    failed = 0
    for command in commands:
        try:
            with steps.step(f"{user}: {command}") as log:
                ran = machine.run(["bash", "-c", command], log, user=user, place=place, seconds=seconds)
                succeeded(ran, command, seconds)
        except RackspanError:
            failed += 1
    return failed


def succeeded(ran: Ran, what: str, seconds: float = 600) -> None:
    """Raises RackspanError with the end of the output unless it ended well in time."""
    if ran.code != 0:
        observed = f"it did not end within {seconds:.0f} s" if ran.code is None else f"exit code {ran.code}"
        raise RackspanError(f"{what} failed", observed=f"{observed}\n{ran.tail}", do=f"read {ran.log}")


def named(ran: Ran) -> list[str]:
    """Packages that a command named as missing. Raises RackspanError if it did anything else."""
    text = ran.log.read_text(errors="replace")
    found = NAMED.search(text)
    if ran.code != Exit.ENVIRONMENT or not found:
        raise RackspanError(
            "the command does not say what to install", observed=f"exit code {ran.code}\n{text}", do=f"read {ran.log}"
        )
    return found[1].split()


def bare_clone(target: Path) -> None:
    """The last commit of this checkout, to clone from."""
    clone = ["git", "clone", "--quiet", "--bare", "--no-local", str(project_root()), str(target)]
    subprocess.run(clone, check=True, stdin=subprocess.DEVNULL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the machines, runs the commands; exit code 1 if one failed."""
    end_on_signals()
    options = _options(arguments)
    results = options.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    steps = Steps(results)
    folder = Path(tempfile.mkdtemp(prefix="empty-machine-", dir=_place()))
    failed = 0
    try:
        with steps.step("debootstrap") as log:
            base = make_root(folder / "base", log)
            bare_clone(base.folder / "srv" / "rackspan.git")
        for user in options.users or USERS:
            machine = base.copy_to(folder / user)
            try:
                failed += try_as(user, machine, options.commands or COMMANDS, steps, options.hours * 3600)
            except RackspanError:
                failed += 1
            if not options.keep:
                shutil.rmtree(machine.folder)
    except RackspanError as e:
        return int(e.code)
    except KeyboardInterrupt:
        print("interrupted; the machine is removed", file=sys.stderr)
        return 130
    finally:
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    return Exit.FAILED if failed else Exit.OK


def _place() -> Path:
    """Room for machines: the build folder, as the temporary one may be in memory."""
    place = project_root() / "build"
    place.mkdir(exist_ok=True)
    return place


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="empty_machine", description="The README's commands on an empty machine.")
    parser.add_argument("--as", dest="users", action="append", choices=USERS, help="as whom; default: both")
    parser.add_argument("--command", dest="commands", action="append", metavar="COMMAND", help="default: the README's")
    parser.add_argument("--hours", type=float, default=HOURS, help="limit for each command; default: 2")
    parser.add_argument("--results", type=Path, default=project_root() / "results" / "empty-machine", metavar="FOLDER")
    parser.add_argument("--keep", action="store_true", help="keep the machines' folders")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
