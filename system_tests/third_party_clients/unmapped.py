"""A distribution whose brokers send Rackspan's own error codes to everybody: ours, with one line taken out."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from harness.common.hard_links import link_or_copy
from harness.common.paths import locked_wait, project_root
from harness.distribution.locate import find

SOURCE = "kafka-patch/src/main/kafka-clients/java/io/rackspan/protocol/KnownErrors.java"
LINE = "answer.error = stock;"  # where KnownErrors.translate puts the stock code into an answer


def unmapped() -> Path:
    """The distribution's folder; made anew when ours has changed."""
    ours = find("rackspan").home
    folder = project_root() / "build" / "unmapped"
    home = folder / f"unmapped-{ours.name}"  # a name of its own, as class archives go by names
    with locked_wait(folder / "lock"):
        jar = next((ours / "libs").glob("kafka-clients-*.jar"))
        broken = home / "libs" / jar.name
        if not broken.exists() or broken.stat().st_mtime < jar.stat().st_mtime:
            shutil.rmtree(home, ignore_errors=True)
            new = folder / "new"
            shutil.rmtree(new, ignore_errors=True)
            shutil.copytree(ours, new, copy_function=link_or_copy)
            (new / "libs" / jar.name).unlink()
            shutil.copyfile(jar, new / "libs" / jar.name)
            _overlay(new / "libs" / jar.name, folder)
            new.rename(home)
    return home


def _overlay(jar: Path, folder: Path) -> None:
    text = (project_root() / SOURCE).read_text(encoding="utf-8")
    assert text.count(LINE) == 1, f"{SOURCE} does not have the line {LINE!r} once: say here where codes are mapped now"
    source, classes = folder / "KnownErrors.java", folder / "classes"
    source.write_text(text.replace(LINE, ""), encoding="utf-8")
    shutil.rmtree(classes, ignore_errors=True)
    classes.mkdir()
    _run("javac", "-nowarn", "-cp", str(jar), "-d", str(classes), str(source))
    _run("jar", "--update", "--file", str(jar), "-C", str(classes), ".")


def _run(tool: str, *args: str) -> None:
    java = os.environ.get("JAVA_HOME")
    subprocess.run([f"{java}/bin/{tool}" if java else tool, *args], check=True, stdin=subprocess.DEVNULL)
