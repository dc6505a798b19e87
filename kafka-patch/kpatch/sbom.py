"""Writes the bill of materials of a distribution in the format CycloneDX; the same distribution gives the same bytes.

It names every jar of `libs/` by its Maven coordinates. A changed one keeps those of upstream, as known vulnerabilities
are listed by these; it has the official jar as its ancestor, and the patches that change it.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType, Diff, Patch, PatchClassification, Pedigree
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from kpatch import dist, licences, paths, series, upstream
from kpatch.errors import KpatchError

VERSION = SchemaVersion.V1_6
JAR = "rackspan:jar"  # the property that names the file in libs/
_APACHE = "Apache-2.0"


def write(up: upstream.Upstream, folder: Path, time: datetime) -> Path:
    """Writes the bill of the distribution in `folder`, and its checksums, beside the archive of that folder.

    `time` is that of the release. Returns the file.
    """
    archive = folder.with_name(folder.name + ".tgz")
    target = dist.bill(folder)
    official = {a.file.name: a for a in upstream.artifacts("runtime")}
    present = sorted((folder / "libs").iterdir())
    if unknown := [jar.name for jar in present if jar.name not in official]:
        raise KpatchError("jars of unknown origin", ", ".join(unknown), "Build the distribution again: gradle dist")
    named = licences.table(dist.TEMPLATES / "licenses.toml")
    patches = _patches()
    bom = Bom(
        metadata=BomMetaData(component=_distribution(up, archive), timestamp=time),
        components=[_jar(up, official[jar.name], jar, named, patches) for jar in present],
        serial_number=uuid.UUID(int=0),
    )
    assert bom.metadata.component is not None
    bom.register_dependency(bom.metadata.component, bom.components)
    # The number of this content: of the text with another number in its place.
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_OID, hashlib.sha256(_text(bom).encode()).hexdigest())
    aside = target.with_name(target.name + ".new")
    aside.write_text(_text(bom) + "\n")
    aside.replace(target)
    dist.checksums(target)
    return target


def _text(bom: Bom) -> str:
    return make_outputter(bom, OutputFormat.JSON, VERSION).output_as_string(indent=2)


def _distribution(up: upstream.Upstream, archive: Path) -> Component:
    version = f"{up.version}-{up.build}"
    return Component(
        type=ComponentType.APPLICATION,
        bom_ref=f"rackspan-kafka@{version}",
        name="rackspan-kafka",
        version=version,
        description=f"{archive.name}: {up.name} {up.version} with the patches of Rackspan",
        hashes=[_sha256(archive)],
        licenses=[DisjunctiveLicense(id=_APACHE)],
        purl=PackageURL("generic", None, "rackspan-kafka", version),
    )


def _jar(
    up: upstream.Upstream,
    artifact: upstream.Artifact,
    jar: Path,
    named: dict[str, tuple[str, str]],
    patches: dict[str, list[str]],
) -> Component:
    found = _sha256(jar)
    component = _component(artifact, found, named)
    component.properties = [Property(name=JAR, value=jar.name)]
    if found.content == artifact.sha256:
        return component
    before = _component(artifact, HashType(alg=HashAlgorithm.SHA_256, content=artifact.sha256), named, "official:")
    by = patches.get(artifact.name, [])
    changed = [name.removesuffix(".patch") for name in by] + (
        ["own classes"] if up.module(artifact.name).own.is_dir() else []
    )
    component.pedigree = Pedigree(
        ancestors=[before],
        patches=[
            Patch(type=PatchClassification.UNOFFICIAL, diff=Diff(url=XsUri(f"kafka-patch/patches/{name}")))
            for name in by
        ],
        notes=f"changed in Rackspan {up.version}-{up.build}: {', '.join(changed)}",
    )
    return component


def _component(
    artifact: upstream.Artifact, digest: HashType, named: dict[str, tuple[str, str]], prefix: str = ""
) -> Component:
    licence, notice = named.get(artifact.name, (_APACHE, ""))
    qualifiers = {"classifier": artifact.classifier} if artifact.classifier else None
    purl = PackageURL("maven", artifact.group, artifact.name, artifact.version, qualifiers)
    return Component(
        type=ComponentType.LIBRARY,
        bom_ref=prefix + purl.to_string(),
        group=artifact.group,
        name=artifact.name,
        version=artifact.version,
        hashes=[digest],
        licenses=[DisjunctiveLicense(id=licence)],
        copyright=notice or None,
        purl=purl,
    )


def _patches() -> dict[str, list[str]]:
    """artifact -> the patches that touch its sources, in their order."""
    found: dict[str, list[str]] = {}
    for name in series.read_series(paths.PATCHES):
        patch = series.parse(name, (paths.PATCHES / name).read_text())
        for artifact in dict.fromkeys(file.path.split("/", 1)[0] for file in patch.files):
            found.setdefault(artifact, []).append(name)
    return found


def _sha256(file: Path) -> HashType:
    with file.open("rb") as data:
        return HashType(alg=HashAlgorithm.SHA_256, content=hashlib.file_digest(data, "sha256").hexdigest())
