"""The AppCDS archive of Spark's classes: loaded and verified once, so that a short session takes half the time.

`python -m spark_analysis.make_class_archive` makes it. The JVM checks it against its own build and class path, and
continues without it where they differ.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
from pathlib import Path

QUIET = "-Xlog:disable -Xlog:all=error:stderr"
_FOLDER = Path(__file__).parents[1] / "build" / "cds"


def path() -> Path:
    """The archive of this installation of Spark and Java, which may not have been made."""
    home = os.environ.get("JAVA_HOME")
    java = Path(f"{home}/bin/java" if home else shutil.which("java") or "java").resolve()
    spark = importlib.util.find_spec("pyspark")
    jars = Path(spark.origin).with_name("jars") if spark and spark.origin else Path("jars")
    # Another installation in the same place has another time.
    key = [f"{p} {p.stat().st_mtime_ns}" if p.exists() else str(p) for p in (java, jars)]
    return _FOLDER / f"spark-{hashlib.sha256(' '.join(key).encode()).hexdigest()[:12]}.jsa"


def java_options() -> str:
    """The options of a JVM that uses the archive; none where it was not made."""
    archive = path()
    return f"-Xshare:auto -XX:SharedArchiveFile={shlex.quote(str(archive))} {QUIET}" if archive.exists() else ""
