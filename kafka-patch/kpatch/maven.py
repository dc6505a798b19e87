"""Writes `build/maven`, a repository with the patched Java client: jar, sources, documentation, POM and metadata."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from kpatch import compile as compiler
from kpatch import jars, upstream
from kpatch.errors import KpatchError

GROUP, ARTIFACT = "io.rackspan", "rackspan-kafka-clients"
_SUMS = ("md5", "sha1", "sha256", "sha512")
_CLIENTS = "org.apache.kafka.clients"
_COMMON = "org.apache.kafka.common"
# What users of the client program against; the other packages are Kafka's own.
PUBLIC = (
    *(f"{_CLIENTS}.{name}" for name in ("admin", "consumer", "producer")),
    _COMMON,
    *(
        f"{_COMMON}.{name}"
        for name in ("acl", "annotation", "config", "config.provider", "errors", "header", "metrics")
    ),
    *(f"{_COMMON}.{name}" for name in ("metrics.stats", "quota", "resource", "security.auth", "serialization")),
)
_POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <name>Rackspan Kafka Clients</name>
  <description>The Java client of {base} with acks=min.insync.replicas and min.insync.racks.</description>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <url>https://www.apache.org/licenses/LICENSE-2.0.txt</url>
      <distribution>repo</distribution>
    </license>
  </licenses>
  <developers>
    <developer>
      <name>The Rackspan maintainers</name>
    </developer>
  </developers>
  <scm>
    <connection>scm:git:rackspan</connection>
    <tag>{version}</tag>
  </scm>
  <dependencies>
{dependencies}  </dependencies>
</project>
"""
_METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<metadata>
  <groupId>{group}</groupId>
  <artifactId>{artifact}</artifactId>
  <versioning>
    <latest>{version}</latest>
    <release>{version}</release>
    <versions>
{versions}    </versions>
  </versioning>
</metadata>
"""


def version_of(up: upstream.Upstream) -> str:
    """The version of the artifact: that of the base, and the build."""
    return f"{up.version}-{up.build}"


def publish(up: upstream.Upstream, folder: Path, tree: Path, out: Path) -> Path:
    """Writes the client of the distribution in `folder`, its sources (of `tree`, and ours) and its POM below `out`.

    Returns the folder of the version. `document` adds the documentation, which takes longer than all of this.
    """
    jar = folder / "libs" / f"kafka-clients-{up.version}.jar"
    if not jar.is_file():
        raise KpatchError("no client jar", f"{jar.name} is not in {folder.name}/libs", "Build the distribution first")
    version = version_of(up)
    target = out / GROUP.replace(".", "/") / ARTIFACT / version
    shutil.rmtree(target, ignore_errors=True)  # a documentation of other sources with it
    target.mkdir(parents=True)
    name = f"{ARTIFACT}-{version}"
    shutil.copyfile(jar, target / f"{name}.jar")
    jars.pack_files(_sources(up, tree), target / f"{name}-sources.jar")
    (target / f"{name}.pom").write_text(_pom(up, version))
    versions = sorted(p.name for p in target.parent.iterdir() if p.is_dir())
    listed = "".join(f"      <version>{escape(v)}</version>\n" for v in versions)
    metadata = target.parent / "maven-metadata.xml"
    metadata.write_text(_METADATA.format(group=GROUP, artifact=ARTIFACT, version=version, versions=listed))
    for file in [metadata, *sorted(target.iterdir())]:
        _sum(file)
    return target


def document(up: upstream.Upstream, folder: Path, tree: Path, out: Path) -> Path:
    """Writes the documentation of the client's public packages beside its jar; returns the jar of the documentation."""
    name = f"{ARTIFACT}-{version_of(up)}"
    target = out / GROUP.replace(".", "/") / ARTIFACT / version_of(up) / f"{name}-javadoc.jar"
    own = next(m.own for m in up.modules if m.artifact == "kafka-clients")
    with tempfile.TemporaryDirectory(prefix="kpatch-javadoc-") as work:
        classpath = ":".join(str(p) for p in sorted((folder / "libs").glob("*.jar")))
        command = [str(Path(compiler.tools().javac).with_name("javadoc")), "-quiet", "-notimestamp", "-Xdoclint:none"]
        command += ["-encoding", "UTF-8", "-docencoding", "UTF-8", "-charset", "UTF-8", "-d", work]
        command += ["-windowtitle", f"{name}", "-classpath", classpath]
        command += ["-sourcepath", f"{tree / 'kafka-clients'}:{own}", *PUBLIC]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise KpatchError("javadoc failed", (done.stderr + done.stdout)[-2000:], "Correct the comments it names")
        files = {p.relative_to(work).as_posix(): p for p in sorted(Path(work).rglob("*")) if p.is_file()}
        jars.pack_files(files, target)
    _sum(target)
    return target


def _sources(up: upstream.Upstream, tree: Path) -> dict[str, Path]:
    own = next(m.own for m in up.modules if m.artifact == "kafka-clients")
    found: dict[str, Path] = {}
    for root in (tree / "kafka-clients", own):
        found |= {p.relative_to(root).as_posix(): p for p in sorted(root.rglob("*.java"))}
    return found


def _pom(up: upstream.Upstream, version: str) -> str:
    # What the official client needs, but for itself: two clients on one class path would shadow each other.
    needs = [a for a in upstream.artifacts("clients") if a.name != "kafka-clients"]
    dependencies = "".join(
        f"    <dependency>\n      <groupId>{a.group}</groupId>\n      <artifactId>{a.name}</artifactId>\n"
        f"      <version>{a.version}</version>\n      <scope>runtime</scope>\n    </dependency>\n"
        for a in sorted(needs, key=lambda a: a.name)
    )
    base = f"{up.name} {up.version}"
    return _POM.format(group=GROUP, artifact=ARTIFACT, version=version, base=escape(base), dependencies=dependencies)


def _sum(file: Path) -> None:
    for kind, digest in _digests(file):
        file.with_name(f"{file.name}.{kind}").write_text(f"{digest}\n")


def _digests(file: Path) -> Iterator[tuple[str, str]]:
    for kind in _SUMS:
        with file.open("rb") as data:
            yield kind, hashlib.file_digest(data, kind).hexdigest()
