"""Writes the Debian package of a distribution with dpkg-deb; the same distribution gives the same bytes.

Beside what is in `kafka-patch/debian` everything is taken from the distribution's folder. Places are those of Debian's
policy, so that /opt/kafka stays free for a stock Kafka: what is run in /usr/share, settings in /etc, the rest in /var.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from kpatch import dist, paths, upstream
from kpatch.errors import KpatchError

PACKAGE = "rackspan-kafka"
SOURCES = paths.KAFKA_PATCH / "debian"
HOME = f"usr/share/{PACKAGE}"
SETTINGS = f"etc/{PACKAGE}"
DOCUMENTS = f"usr/share/doc/{PACKAGE}"
DATA = f"/var/lib/{PACKAGE}"
BILL = f"{HOME}/{PACKAGE}.cdx.json"
_SCRIPTS = ("postinst", "prerm", "postrm")
_RUN = frozenset(f"DEBIAN/{script}" for script in _SCRIPTS)
_ENTRY = re.compile(
    rf"{PACKAGE} \((?P<version>\S+)\) .*?\n -- (?P<maintainer>.+? <.+?>)  (?P<time>[^\n]+)\n", re.DOTALL
)
_HEAD = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: {name}
Source: https://kafka.apache.org, changed by the patches that rackspan.json lists

Files: *
Copyright: The Apache Software Foundation
 the Rackspan contributors
 the authors that the files below licenses/ name
License: Apache-2.0
"""


@dataclass(frozen=True)
class Release:
    """The latest entry of the package's changelog. Its time is that of every file."""

    version: str
    maintainer: str
    time: datetime


def release(up: upstream.Upstream, changelog: Path = SOURCES / "changelog") -> Release:
    """The release that is built. Raises KpatchError unless the changelog begins with it."""
    wanted = f"{up.version}-{up.build}"
    entry = _ENTRY.match(changelog.read_text())
    if entry is None or entry["version"] != wanted:
        raise KpatchError(
            f"the changelog of the Debian package does not begin with {wanted}",
            entry["version"] if entry else f"no entry at the head of {changelog.name}",
            f"Add an entry for {wanted} at the head of kafka-patch/debian/changelog",
        )
    return Release(wanted, entry["maintainer"], parsedate_to_datetime(entry["time"]))


def name(up: upstream.Upstream) -> str:
    """File name of the package."""
    return f"{PACKAGE}_{up.version}-{up.build}_all.deb"


def build(up: upstream.Upstream, folder: Path, bill: Path, out: Path) -> Path:
    """Writes the package of the distribution in `folder`, with its bill of materials, and its checksums into `out`."""
    program = shutil.which("dpkg-deb")
    if program is None:
        raise KpatchError("no Debian package can be written", "dpkg-deb is not on PATH", "Install the package dpkg")
    made = release(up)
    target = out / name(up)
    # Beside the folder of distributions, which others read meanwhile, and on the same disk.
    with tempfile.TemporaryDirectory(prefix="kpatch-debian-", dir=out.parent) as work:
        root, aside = Path(work) / "root", Path(work) / target.name
        _files(up, folder, bill, root)
        _control(up, made, root)
        _same(root, int(made.time.timestamp()))
        # The jars are packed already: xz would take a minute to make the package a few per cent smaller.
        command = [program, "--root-owner-group", "-Zgzip", "-z6", "--build", str(root), str(aside)]
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(int(made.time.timestamp())), "LC_ALL": "C"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise KpatchError("dpkg-deb failed", done.stderr.strip()[-2000:], "Correct what it names")
        aside.replace(target)
    dist.checksums(target)
    return target


def _files(up: upstream.Upstream, folder: Path, bill: Path, root: Path) -> None:
    home, settings, documents = root / HOME, root / SETTINGS, root / DOCUMENTS
    for part in ("bin", "libs", "licenses"):
        shutil.copytree(folder / part, home / part, copy_function=shutil.copyfile)
    for file in ("LICENSE", "NOTICE", "rackspan.json"):
        shutil.copyfile(folder / file, home / file)
    shutil.copyfile(bill, root / BILL)
    shutil.copytree(folder / "config", settings, copy_function=shutil.copyfile)
    for properties in settings.glob("*.properties"):
        text = re.sub(r"(?m)^log\.dirs=.*$", f"log.dirs={DATA}/{properties.stem}", properties.read_text())
        properties.write_text(text)
    (home / "config").symlink_to(f"/{SETTINGS}")
    (home / "logs").symlink_to(f"/var/log/{PACKAGE}")
    documents.mkdir(parents=True)
    shutil.copyfile(SOURCES / "README.Debian", documents / "README.Debian")
    (documents / "copyright").write_text(_copyright(up, folder))
    (documents / "changelog.Debian.gz").write_bytes(gzip.compress((SOURCES / "changelog").read_bytes(), mtime=0))
    for source, place in (
        (f"{PACKAGE}.service", f"usr/lib/systemd/system/{PACKAGE}.service"),
        (f"{PACKAGE}.default", f"etc/default/{PACKAGE}"),
        ("lintian-overrides", f"usr/share/lintian/overrides/{PACKAGE}"),
    ):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SOURCES / source, root / place)


def _control(up: upstream.Upstream, made: Release, root: Path) -> None:
    everything = sorted(root.rglob("*"))
    files = [p.relative_to(root).as_posix() for p in everything if p.is_file() and not p.is_symlink()]
    size = sum(-(-p.stat().st_size // 1024) if p.is_file() and not p.is_symlink() else 1 for p in everything)
    place = root / "DEBIAN"
    place.mkdir()
    base = f"{up.name} {up.version}"
    control = (SOURCES / "control").read_text()
    (place / "control").write_text(
        control.format(version=made.version, maintainer=made.maintainer, size=size, base=base)
    )
    (place / "conffiles").write_text("".join(f"/{f}\n" for f in files if f.startswith("etc/")))
    sums = ((hashlib.md5((root / f).read_bytes()).hexdigest(), f) for f in files if not f.startswith("etc/"))
    (place / "md5sums").write_text("".join(f"{digest}  {file}\n" for digest, file in sums))
    for script in _SCRIPTS:
        shutil.copyfile(SOURCES / script, place / script)


def _same(root: Path, seconds: int) -> None:
    """Takes away what shows of the builder: the umask, and when files were made."""
    for file in [root, *root.rglob("*")]:
        if not file.is_symlink():
            runs = file.is_dir() or file.suffix == ".sh" or file.relative_to(root).as_posix() in _RUN
            file.chmod(0o755 if runs else 0o644)
    for file in [root, *root.rglob("*")]:
        os.utime(file, (seconds, seconds), follow_symlinks=False)


def _copyright(up: upstream.Upstream, folder: Path) -> str:
    """The licences in Debian's format, from the list that is in the distribution."""
    rows = [(line + "  ").split("  ")[:3] for line in (folder / "licenses" / "jars.txt").read_text().splitlines()]
    others = [(jar, licence, notice) for jar, licence, notice in rows if licence != "Apache-2.0"]
    return "\n".join(
        [
            _HEAD.format(name=up.name),
            *(f"Files: {HOME}/libs/{jar}\nCopyright: {notice}\nLicense: {name}\n" for jar, name, notice in others),
            *_texts(folder, sorted({licence for _, licence, _ in others})),
        ]
    )


def _texts(folder: Path, licences: list[str]) -> Iterator[str]:
    common = "/usr/share/common-licenses/Apache-2.0"
    yield f"License: Apache-2.0\n On Debian systems the text of this licence is in {common}.\n"
    for licence in licences:
        text = (folder / "licenses" / f"{licence}.txt").read_text().strip()
        yield f"License: {licence}\n" + "".join(f" {line.strip() or '.'}\n" for line in text.splitlines())
