"""Upstream's clusters at another level of rackspan.version than new clusters have.

Its tests ask the class Feature for the levels of a new cluster, and no setting changes the answer. A jar in front of
the distribution's holds that class with one line more; all else is what the distribution has.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from harness.common.errors import RackspanError, environment_error
from harness.common.paths import project_root

_NAME = "org/apache/kafka/server/common/Feature"
_SOURCE = Path("build", "kafka-src", "kafka-server-common", f"{_NAME}.java")
_BEGINS = "    public FeatureVersion defaultVersion(MetadataVersion metadataVersion) {\n"


def start_level_jar(level: int, libs: Path, jar: Path, source: Path | None = None) -> Path:
    """Writes the jar of a level and returns it. ``libs`` is the folder of the jars that it goes in front of.

    Raises RackspanError: without the patched source (exit code 4), or where it cannot be changed and compiled.
    """
    source = source or project_root() / _SOURCE
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as e:
        do = "build with `./rackspan build`"
        raise environment_error("the patched source of Feature is missing", observed=str(e), do=do) from None
    if _BEGINS not in text:
        raise _refused(source, f"it has no line `{_BEGINS.strip()}`")
    line = f"        if (this == RACKSPAN_VERSION) return fromFeatureLevel((short) {level}, true);\n"
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(folder, "Feature.java")
        changed.write_text(text.replace(_BEGINS, _BEGINS + line), encoding="utf-8")
        command = ["javac", "-proc:none", "-nowarn", "-cp", f"{libs}/*", "-d", folder, str(changed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise _refused(source, done.stderr.strip())
        part = jar.with_name(f".{jar.name}.{os.getpid()}.part")
        with zipfile.ZipFile(part, "w") as target:
            # Without dates: outcomes are stored under the digest of the jars.
            target.writestr(zipfile.ZipInfo(f"{_NAME}.class"), Path(folder, f"{_NAME}.class").read_bytes())
        part.replace(jar)
    return jar


def _refused(source: Path, observed: str) -> RackspanError:
    do = "build with `./rackspan build`, or run without --level"
    return RackspanError(f"{source} cannot be compiled for another level", observed=observed, do=do)
