"""The level of rackspan.version that clusters of upstream's tests start with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.common.errors import Exit, RackspanError
from harness.distribution.locate import find
from harness.tests.commands import rackspan
from harness.upstream_tests.start_level import start_level_jar

FORMATTER = "org.apache.kafka.metadata.storage.FormatterTest"


@pytest.mark.timeout(900)
def test_clusters_of_the_tests_start_at_the_level_of_the_option(home: Path, tmp_path: Path) -> None:
    verify = ("verify-stock", "--store", str(tmp_path), FORMATTER, "-o", "json")
    known = {}
    for level in ("0", "2"):
        ran = rackspan(*verify, "--level", level, home=home, seconds=400)
        assert ran.returncode == 0, ran.stderr
        known[level] = set(json.loads(ran.stdout)["classes"][0]["known"])
    # The features that were written to the storage of a new cluster are stock's at level 0.
    assert known["2"] - known["0"] == {"testFeatureFlag(short)[1]", "testFeatureFlag(short)[2]"}
    assert known["0"] == {"testInvalidFeatureFlag()"}


def test_a_level_that_cannot_be_had_is_refused(home: Path, tmp_path: Path) -> None:
    verify = ("verify-stock", "--store", str(tmp_path), FORMATTER)
    folder = str(find("rackspan").home)
    for given, has in ((("3",), "rackspan has levels 0 to 2"), (("0", "--patched", folder), f"{folder} has levels 0")):
        ran = rackspan(*verify, "--level", *given, home=home)
        assert ran.returncode == Exit.USAGE and has in ran.stderr.replace("\n", ""), ran.stderr
        assert f"level {given[0]} of rackspan.version not found" in ran.stderr
    assert not list(tmp_path.iterdir())


def test_a_source_that_cannot_be_changed_or_compiled_is_refused(tmp_path: Path) -> None:
    libs, jar, source = find("rackspan").home / "libs", tmp_path / "x.jar", tmp_path / "Feature.java"
    with pytest.raises(RackspanError, match="the patched source of Feature is missing") as e:
        start_level_jar(0, libs, jar, source)
    assert e.value.code == Exit.ENVIRONMENT
    place = "    public FeatureVersion defaultVersion(MetadataVersion metadataVersion) {\n"
    for text, observed in (("enum Feature {}", "it has no line"), (place, "error: ")):
        source.write_text(text)
        with pytest.raises(RackspanError, match=r"Feature\.java cannot be compiled for another level") as e:
            start_level_jar(0, libs, jar, source)
        assert observed in str(e.value)
    assert not list(tmp_path.glob("*x.jar*"))
