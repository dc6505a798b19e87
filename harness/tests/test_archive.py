"""The distributions hold what the official archive holds, and no more than is said here."""

from __future__ import annotations

import re
import tomllib

import pytest

from harness.common.paths import project_root
from harness.distribution.locate import find

OFFICIAL = tomllib.loads((project_root() / "kafka-patch" / "official-archive.toml").read_text())
OWN = {
    "bin": {"rackspan": {"kafka-racks.sh", "rackspan-kafka.sh"}, "stock": set()},
    "config": {kind: {"jmx-exporter.yml", "kubernetes", "monitoring"} for kind in ("rackspan", "stock")},
    "libs": {"rackspan": {"jmx_prometheus_javaagent-1.0.1.jar"}, "stock": {"jmx_prometheus_javaagent-1.0.1.jar"}},
}


@pytest.mark.parametrize("distribution", ["rackspan", "stock"])
@pytest.mark.parametrize("folder", ["bin", "config", "libs"])
def test_files_are_those_of_the_official_archive_and_our_own(folder: str, distribution: str) -> None:
    found = {file.name for file in (find(distribution).home / folder).iterdir()}
    assert found == set(OFFICIAL[folder]) | OWN[folder][distribution]


@pytest.mark.parametrize("distribution", ["rackspan", "stock"])
def test_every_jar_has_its_licence(distribution: str) -> None:
    home = find(distribution).home
    rows = [line.split("  ") for line in (home / "licenses" / "jars.txt").read_text().splitlines()]
    jars = {file.name for file in (home / "libs").iterdir()}
    kafka = {name for name in jars if re.search(r"^(kafka|connect|trogdor).*-4\.3\.1\.jar", name)}
    assert {row[0] for row in rows} == jars - kafka
    for jar, licence, *notice in rows:
        text = (home / "licenses" / f"{licence}.txt").read_text()
        assert len(text) > 500 and (licence == "Apache-2.0" or notice), jar
    named = tomllib.loads((project_root() / "kafka-patch" / "dist" / "licenses.toml").read_text())
    artifacts = {re.sub(r"-[0-9].*\.jar", "", row[0]) for row in rows if row[1] != "Apache-2.0"}
    assert artifacts == {name for names in named.values() for name in names}


@pytest.mark.parametrize("distribution", ["rackspan", "stock"])
def test_scripts_are_executable_and_settings_are_not(distribution: str) -> None:
    home = find(distribution).home
    scripts = list((home / "docker").glob("*.sh"))
    assert {file.name for file in scripts} == {"entrypoint.sh", "healthcheck.sh"}
    for file in [*(home / "bin").iterdir(), *scripts]:
        assert file.stat().st_mode & 0o777 == 0o755, file
        assert file.read_text().startswith("#!/usr/bin/env bash\n"), file
    for file in (home / "config").rglob("*"):
        assert file.stat().st_mode & 0o777 == (0o755 if file.is_dir() else 0o644), file
