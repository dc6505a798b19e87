"""Another base than the product's: what is apart, what is shared, and that its patches are those of the product."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kpatch import changes, paths, series, upstream
from kpatch.errors import KpatchError

BASES = sorted(p.parent for p in (paths.KAFKA_PATCH / "bases").glob("*/upstream.toml"))


def run(base: str, *code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *code],
        env={**os.environ, "KPATCH_BASE": base, "PYTHONPATH": str(paths.KAFKA_PATCH)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("base", BASES, ids=lambda p: p.name)
def test_a_base_changes_versions_and_places_only(base: Path) -> None:
    reported = run(
        base.name, "-c", "from kpatch.paths import *; print(*(PATCHES, WORK, BUILD, ARTIFACTS, OWN), sep='\\n')"
    )
    build = paths.PROJECT / "build" / "bases" / base.name
    expected = [base / "patches", base / "work", build, build / "artifacts.json", paths.OWN]
    assert reported.stdout.splitlines() == [str(p) for p in expected], reported.stderr
    product, other = upstream.load(), upstream.load(base=base / "upstream.toml")
    assert other.version == base.name != product.version
    assert other.modules == product.modules


@pytest.mark.parametrize("base", BASES, ids=lambda p: p.name)
def test_a_base_has_the_proposals_of_the_product(base: Path) -> None:
    names = series.read_series(base / "patches")
    assert names == series.read_series(paths.PATCHES)
    for name in names:
        ours = series.parse(name, (paths.PATCHES / name).read_text())
        other = series.parse(name, (base / "patches" / name).read_text())
        assert (other.subject, other.trailers) == (ours.subject, ours.trailers)


@pytest.mark.parametrize("base", [paths.KAFKA_PATCH, *BASES], ids=lambda p: p.name)
def test_the_list_of_changed_classes_names_every_patch_and_every_class_of_ours(base: Path) -> None:
    """The stage of other bases, which builds them, compares all of it."""
    lines = (base / "changed-classes.txt").read_text().splitlines()[1:]
    named = {name for line in lines for name in line.partition(": ")[2].split(", ")}
    assert {name.removesuffix(".patch") for name in series.read_series(base / "patches")} <= named
    listed = {line.split(": ")[0] for line in lines if line.endswith(f": {changes.OWN}")}
    for module in upstream.load(base=base / "upstream.toml").modules:
        for file in module.own.rglob("*.java"):
            name = f"{module.artifact} {file.relative_to(module.own).with_suffix('')}"
            assert name in listed or file.name == "package-info.java", name


def test_an_unknown_base_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KpatchError, match=r"there is no base 1\.2\.3"):
        upstream.load(base=tmp_path / "1.2.3" / "upstream.toml")
    reported = run("1.2.3", "-m", "kpatch", "list")
    assert reported.returncode == 1 and "there is no base 1.2.3" in reported.stderr


@pytest.mark.parametrize("base", BASES, ids=lambda p: p.name)
def test_patches_of_a_base_are_listed(base: Path) -> None:
    reported = run(base.name, "-m", "kpatch", "list")
    assert [line.split("\t")[0] for line in reported.stdout.splitlines()] == series.read_series(base / "patches")
