"""The Grafana dashboard that ships."""

import json
import re

from kpatch import dashboard


def test_the_dashboard_that_ships_is_the_generated_one() -> None:
    assert dashboard.FILE.read_text() == dashboard.text(), "write it anew: gradle dashboard"


def test_every_panel_has_a_description_a_unit_and_queries_of_what_is_selected() -> None:
    made = json.loads(dashboard.FILE.read_text())
    assert [v["name"] for v in made["templating"]["list"]] == ["datasource", "job", "rack", "topic"]
    assert len(made["panels"]) >= 12
    for panel in made["panels"]:
        assert panel["title"] and panel["description"].endswith("."), panel
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
        for target in panel["targets"]:
            assert "$job" in target["expr"] and target["legendFormat"], panel["title"]
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in made["panels"]]
    assert len(set(places)) == len(places), "panels lie upon each other"


def test_exported_metrics_of_the_agent_are_the_only_ones() -> None:
    rules = (dashboard.FILE.parents[1] / "jmx-exporter.yml").read_text()
    families = set(re.findall(r"name: (\w+?_)\$?\d?", rules)) | set(re.findall(r"name: (\w+)", rules))
    names = set(re.findall(r"\b(kafka_\w+)", dashboard.text()))
    assert names and all(any(name.startswith(family) for family in families) for name in names), names
