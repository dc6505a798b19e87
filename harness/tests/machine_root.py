"""A root folder with a Debian of its own, and commands that run in it as on a machine of its own.

Processes, mounts and shared memory are the machine's own and end with the command; the network is this machine's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.common.errors import RackspanError, environment_error
from harness.tests.commands import in_background

RELEASE = "bookworm"
INCLUDED = "git,ca-certificates"
_APT = Path("/etc/apt")
# How this machine reaches registries: files of the system, files of a home, and variables of the environment.
_SYSTEM_FILES = ("/etc/apt", "/etc/pip.conf", "/etc/npmrc", "/usr/local/share/ca-certificates", "/etc/resolv.conf")
_HOME_FILES = (
    ".config/pip",
    ".pip",
    ".m2/settings.xml",
    ".gradle/init.d",
    ".gradle/init.gradle",
    ".gradle/gradle.properties",
    ".npmrc",
    ".config/go",
)
_VARIABLES = re.compile(
    r"(?i)pip_.*|npm_config_.*|go(proxy|nosumdb|sumdb|flags)|.*_proxy|.*ca_bundle|.*ca_?(certs|info)"
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The first process of the machine: its mounts, then its root. An ordinary user may make user namespaces below a root
# that was pivoted to, and not in one that was changed by chroot.
_BEGIN = """set -e
mount --bind "$1" "$1"
cd "$1"
mkdir -p proc sys dev tmp run .before
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs run
pivot_root . .before
umount --lazy /.before
cd "$2"
shift 2
"$@"
exit $?
"""


@dataclass(frozen=True)
class Ran:
    """Exit code of a command and the file that has its output; `code` is None if its time was over."""

    code: int | None
    log: Path

    @property
    def tail(self) -> str:
        """The last lines of the output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])


class MachineRoot:
    """The root folder of a machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self, command: Sequence[str], log: Path, *, user: str = "root", place: str = "/", seconds: float = 600
    ) -> Ran:
        """Runs a command as one that a script has begun in the background; it is ended when its time is over, or when
        this process is interrupted.
        """
        home = "/root" if user == "root" else f"/home/{user}"
        environment = _settings() | {"HOME": home, "USER": user, "PATH": _PATH, "LANG": "C.UTF-8"}
        become = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        own = ["unshare", "--mount", "--propagation=private", "--pid", "--ipc", "--fork", "--kill-child"]
        begin = ["bash", "-c", _BEGIN, "bash", str(self.folder), place, *become]
        with log.open("ab") as out:
            process = subprocess.Popen(
                [*own, *begin, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=in_background,
            )
            try:
                return Ran(process.wait(seconds), log)
            except subprocess.TimeoutExpired:
                return Ran(None, log)
            finally:
                process.kill()  # and with it everything on the machine
                process.wait()

    def copy_to(self, other: Path) -> MachineRoot:
        """Another machine with the same files."""
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.folder), str(other)], check=True)
        return MachineRoot(other)

    def add_user(self, name: str, log: Path) -> None:
        """Adds an ordinary user who reaches registries as root does."""
        self._must(["useradd", "--create-home", "--shell", "/bin/bash", name], log)
        _copy_home(self.folder / "home" / name)
        self._must(["chown", "-R", f"{name}:", f"/home/{name}"], log)

    def _must(self, command: Sequence[str], log: Path) -> None:
        ran = self.run(command, log, seconds=120)
        if ran.code != 0:
            raise RackspanError(f"{' '.join(command)} failed", observed=ran.tail, do=f"read {log}")


def make_root(folder: Path, log: Path, seconds: float = 1200) -> MachineRoot:
    """Installs the smallest Debian with git, configured to reach registries as this machine does. Raises
    RackspanError (exit code 4 without the means).
    """
    program = shutil.which("debootstrap", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if os.geteuid() != 0 or program is None:
        raise environment_error(
            "cannot make an empty machine",
            observed="this is not root" if os.geteuid() else "there is no debootstrap",
            do="run it as root on Debian or Ubuntu, with the package debootstrap",
        )
    own = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command = [*own, program, "--variant=minbase", f"--include={INCLUDED}", RELEASE, str(folder), mirror()]
    with log.open("ab") as out:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=seconds)
        except subprocess.TimeoutExpired as e:
            raise RackspanError("debootstrap did not end", observed=f"{seconds} s are over", do=f"read {log}") from e
    root = MachineRoot(folder)
    if done.returncode:
        raise RackspanError("debootstrap failed", observed=Ran(done.returncode, log).tail, do=f"read {log}")
    # Debian's installer writes this file, debootstrap does not; the name of the machine is in it on some machines only.
    (folder / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (folder / "etc/apt/sources.list").unlink(
        missing_ok=True
    )  # debootstrap's: apt warns of what this machine's names too
    for name in _SYSTEM_FILES:
        _copy(Path(name), folder / name.lstrip("/"))
    for value in map(Path, _settings().values()):
        if value.is_absolute() and not (folder / value.relative_to("/")).exists():
            _copy(value, folder / value.relative_to("/"))
    _copy_home(folder / "root")
    (folder / "root").chmod(0o700)
    root._must(["update-ca-certificates"], log)
    return root


def mirror(apt: Path = _APT) -> str:
    """Where this machine's own apt has the release from. Raises RackspanError (exit code 4) if it has it not."""
    for uri, suites in _sources(apt):
        if RELEASE in suites:
            return uri
    raise environment_error(
        f"cannot make an empty machine of Debian {RELEASE}",
        observed=f"no source in {apt} has it",
        do=f"run it on Debian {RELEASE}",
    )


def _sources(apt: Path) -> Iterator[tuple[str, list[str]]]:
    """First address and suites of every source, in both formats of apt."""
    for file in sorted(apt.glob("**/*.sources")):
        for stanza in re.split(r"\n\s*\n", file.read_text(encoding="utf-8")):
            fields = dict(re.findall(r"^([A-Za-z-]+):\s*(.*?)\s*$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes") != "no":
                yield fields["URIs"].split()[0], fields.get("Suites", "").split()
    for file in sorted(apt.glob("**/*.list")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"deb\s+(?:\[.*?\]\s+)?(\S+)\s+(\S+)", line):
                yield found[1], [found[2]]


def _settings() -> dict[str, str]:
    """Variables of this process by which programs reach registries."""
    return {name: value for name, value in os.environ.items() if _VARIABLES.fullmatch(name)}


def _copy_home(home: Path) -> None:
    for name in _HOME_FILES:
        _copy(Path.home() / name, home / name)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
