"""Alert and recording rules of the distribution, tested by promtool."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cluster import monitoring
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.common.wait import Pending, wait_for
from harness.spec.cluster_spec import parse
from harness.tests.commands import rackspan
from harness.tests.limits import STUCK

MONITORING = project_root() / "kafka-patch" / "dist" / "config" / "monitoring"
ALERTS = MONITORING / "rackspan-alerts.yml"
CASES = Path(__file__).with_name("alerts.yml")
PAGE = project_root() / "docs" / "operations" / "alerts.md"


def rules(file: Path) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]


def promtool(*arguments: str) -> str:
    if not shutil.which("promtool") and not os.environ.get("CI"):
        pytest.skip("promtool is not on PATH: apt-get install prometheus")
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_are_valid_and_fire_when_they_should() -> None:
    promtool("check", "rules", *map(str, sorted(MONITORING.glob("*.yml"))))
    assert "SUCCESS" in promtool("test", "rules", str(CASES))


@pytest.mark.cluster
def test_a_cluster_is_brought_up_with_its_monitoring(home: Path) -> None:
    if not shutil.which("prometheus") and not os.environ.get("CI"):
        pytest.skip("prometheus is not on PATH: apt-get install prometheus")
    small = ("--racks", "a:1", "--controllers", "1", "--name", "watched", "--distribution", "stock")
    up = rackspan("up", *small, "--monitoring", home=home, seconds=STUCK)
    assert up.returncode == 0, up.stderr
    found = re.search(r"monitoring: (http://127\.\d+\.255\.2:9090)/alerts", up.stderr)
    assert found, up.stderr

    def nodes() -> bool | Pending:
        with urllib.request.urlopen(f"{found[1]}/api/v1/query?query=up", timeout=30) as answer:
            series = json.load(answer)["data"]["result"]
        scraped = {(s["metric"]["node"], s["metric"]["rack"], s["value"][1]) for s in series}
        return scraped == {("a1", "a", "1"), ("ctrl-1", "a", "1")} or Pending(str(scraped))

    wait_for("both nodes to be scraped", nodes, STUCK)
    with urllib.request.urlopen(f"{found[1]}/api/v1/rules", timeout=30) as answer:
        loaded = {r["name"] for g in json.load(answer)["data"]["groups"] for r in g["rules"]}
    assert {rule["alert"] for rule in rules(ALERTS)} <= loaded
    assert rackspan("down", "watched", home=home).returncode == 0
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(found[1], timeout=30)


def test_monitoring_without_prometheus_is_refused_before_anything_starts(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RackspanError) as e:
        monitoring.program(parse({}))
    assert e.value.code == Exit.ENVIRONMENT
    assert "observed: prometheus is not on PATH" in str(e.value)
    refused = rackspan("up", "--backend", "netns", "--monitoring", home=home)
    assert (refused.returncode, refused.stdout) == (Exit.USAGE, "")
    assert "do:       use --monitoring with the backend local and metrics on" in refused.stderr


def test_every_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    tests = [test for case in yaml.safe_load(CASES.read_text())["tests"] for test in case.get("alert_rule_test", ())]
    named = {rule["alert"] for rule in rules(ALERTS)}
    assert {test["alertname"] for test in tests if test["exp_alerts"]} == named
    quiet = {test["alertname"] for test in tests if not test["exp_alerts"]}
    assert named - quiet == {"RackspanExposure"}, "its case has brokers below the bound beside the one above"


def test_every_alert_has_a_severity_a_text_and_a_section_of_the_page() -> None:
    sections = re.findall(r"^## (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert sections == [rule["alert"] for rule in rules(ALERTS)]
    for rule in rules(ALERTS):
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        notes = rule["annotations"]
        assert notes["summary"] and notes["description"]
        assert notes["runbook_url"] == f"docs/operations/alerts.md#{rule['alert'].lower()}"
