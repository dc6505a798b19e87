"""The bill of materials: valid, complete, and the same bytes for the same distribution."""

import hashlib
import json
import shutil
import uuid
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.validation.json import JsonStrictValidator

from kpatch import debian, dist, paths, sbom, upstream
from kpatch.errors import KpatchError

pytestmark = pytest.mark.skipif(
    not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts"
)

UP = upstream.load()
NAME = dist.name(UP, "rackspan")
BUILT = paths.BUILD / "dist" / NAME


def _written(place: Path) -> Path:
    place.mkdir()
    for name in (NAME, f"{NAME}.tgz"):
        (place / name).symlink_to(BUILT.with_name(name))
    return sbom.write(UP, place / NAME, debian.release(UP).time)


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("bill") / "first")


@pytest.fixture(scope="module")
def read(bill: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bill.read_text())
    return found


def _jar(component: dict[str, Any]) -> str:
    return str(next(p["value"] for p in component["properties"] if p["name"] == sbom.JAR))


def test_it_is_valid_by_the_official_schema(bill: Path) -> None:
    validator = JsonStrictValidator(sbom.VERSION)
    assert validator.validate_str(bill.read_text()) is None
    wrong = bill.read_text().replace('"type": "library"', '"type": "book"', 1)
    assert validator.validate_str(wrong) is not None


def test_its_components_are_the_jars_with_their_digests(read: dict[str, Any]) -> None:
    on_disk = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (BUILT / "libs").iterdir()}
    listed = {_jar(c): c["hashes"][0]["content"] for c in read["components"]}
    assert listed == on_disk and len(read["components"]) == len(on_disk) > 100
    assert {c["hashes"][0]["alg"] for c in read["components"]} == {"SHA-256"}


def test_coordinates_are_those_of_the_lock(read: dict[str, Any]) -> None:
    official = {a.file.name: a for a in upstream.artifacts("runtime")}
    for component in read["components"]:
        a = official[_jar(component)]
        assert (component["group"], component["name"], component["version"]) == (a.group, a.name, a.version)
        classifier = f"?classifier={a.classifier}" if a.classifier else ""
        assert component["purl"] == f"pkg:maven/{a.group}/{a.name}@{a.version}{classifier}"


def test_licences_are_those_of_the_distribution(read: dict[str, Any]) -> None:
    rows = [line.split("  ") for line in (BUILT / "licenses" / "jars.txt").read_text().splitlines()]
    stated = {jar: (licence, *notice) for jar, licence, *notice in rows}
    for component in read["components"]:
        found = tuple(
            x for x in (component["licenses"][0]["license"]["id"], component.get("copyright")) if x is not None
        )
        assert found == stated.get(_jar(component), ("Apache-2.0",)), _jar(component)


def test_changed_jars_have_the_official_one_as_ancestor_and_its_patches(read: dict[str, Any]) -> None:
    official = {a.file.name: a for a in upstream.artifacts("runtime")}
    lines = (paths.KAFKA_PATCH / "changed-classes.txt").read_text().splitlines()[1:]
    changed = {line.split()[0] for line in lines}
    assert {c["name"] for c in read["components"] if "pedigree" in c} == changed
    for component in read["components"]:
        a = official[_jar(component)]
        if "pedigree" not in component:
            assert component["hashes"][0]["content"] == a.sha256
            continue
        (ancestor,) = component["pedigree"]["ancestors"]
        assert ancestor["hashes"] == [{"alg": "SHA-256", "content": a.sha256}] != component["hashes"]
        assert ancestor["purl"] == component["purl"] and ancestor["bom-ref"] != component["bom-ref"]
        urls = [p["diff"]["url"] for p in component["pedigree"]["patches"]]
        assert urls and all((paths.PROJECT / url).is_file() for url in urls)
        # The list of changed classes has the patches of each class.
        by = {
            p.strip()
            for line in lines
            if line.startswith(f"{a.name} ")
            for p in line.partition(": ")[2].split(",")
            if p.strip() not in ("own class", "follows from others")
        }
        assert by <= {Path(url).stem for url in urls}


def test_it_describes_the_archive(read: dict[str, Any]) -> None:
    component = read["metadata"]["component"]
    digest = BUILT.with_name(f"{NAME}.tgz.sha256").read_text().split()[0]
    assert component["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert (component["name"], component["version"]) == ("rackspan-kafka", f"{UP.version}-{UP.build}")
    needs = next(d["dependsOn"] for d in read["dependencies"] if d["ref"] == component["bom-ref"])
    assert sorted(needs) == sorted(c["bom-ref"] for c in read["components"])


def test_the_same_distribution_gives_the_same_bytes(bill: Path, tmp_path: Path) -> None:
    assert _written(tmp_path / "second").read_bytes() == bill.read_bytes()


def test_another_jar_gives_another_serial_number(read: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / NAME
    (folder / "libs").mkdir(parents=True)
    (tmp_path / f"{NAME}.tgz").symlink_to(BUILT.with_name(f"{NAME}.tgz"))
    shutil.copyfile(BUILT / "libs" / f"kafka-raft-{UP.version}.jar", folder / "libs" / f"kafka-raft-{UP.version}.jar")
    other = json.loads(sbom.write(UP, folder, debian.release(UP).time).read_text())
    assert uuid.UUID(other["serialNumber"]) != uuid.UUID(read["serialNumber"])
    assert [_jar(c) for c in other["components"]] == [f"kafka-raft-{UP.version}.jar"]


def test_a_jar_of_unknown_origin_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME / "libs").mkdir(parents=True)
    (tmp_path / NAME / "libs" / "strange.jar").touch()
    with pytest.raises(KpatchError, match=r"strange\.jar"):
        sbom.write(UP, tmp_path / NAME, debian.release(UP).time)
    assert [p.name for p in tmp_path.iterdir()] == [NAME]
