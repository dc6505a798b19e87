"""A Prometheus beside the cluster of a test, with the rules of the distribution; and the mark of tests that need it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from ducktape.mark import ignore

from harness.cluster import monitoring
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.program_service import ProgramService

SCRAPE = "2s"
# A test cannot wait for a quarter of an hour: all times of the rules are shorter by this.
SHORTER = 60
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_LEAST = 5  # seconds; a rate needs two samples

Test = Callable[..., Any]


def needs_prometheus(test: Test) -> Test:
    """Marks a test that runs Prometheus: skipped where it is not installed, but not in CI."""
    skipped: Test = test if shutil.which("prometheus") or os.environ.get("CI") else ignore(test)
    return skipped


def shortened(rules: dict[str, Any]) -> dict[str, Any]:
    """Rules whose pauses and windows are SHORTER times as long."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "for" in rule:
                rule["for"] = _shorter(rule["for"])
            rule["expr"] = re.sub(r"\[(\w+)\]", lambda m: f"[{_shorter(m[1])}]", rule["expr"])
    return rules


def _shorter(duration: str) -> str:
    seconds = int(duration[:-1]) * _SECONDS[duration[-1]] // SHORTER
    return f"{max(_LEAST, seconds)}s"


class Prometheus:
    """One Prometheus that scrapes all nodes of a cluster."""

    def __init__(self, context: Any, kafka: KafkaRacks) -> None:
        self._program = ProgramService(context, "prometheus")
        folder = self._program.folder
        self._rules = kafka.kafka.distribution.home / "config" / "monitoring"
        files = []
        for file in sorted(self._rules.glob("*.yml")):
            target = folder / file.name
            target.write_text(yaml.safe_dump(shortened(yaml.safe_load(file.read_text()))))
            files.append(target)
        settings = monitoring.settings(kafka.plan.nodes, files, SCRAPE)
        (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
        self._address = f"127.0.0.1:{_free_port()}"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        folder: Path = self._program.folder
        command = [shutil.which("prometheus") or "prometheus", f"--config.file={folder / 'prometheus.yml'}"]
        command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={self._address}"]
        self._program.run(command, {})
        self._program.wait_printed("Server is ready to receive web requests", 120)

    def end(self) -> None:
        """Ends it. Raises RackspanError if it has failed."""
        self._program.end()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an expression, now."""
        found: list[dict[str, Any]] = self._get("query", query=expression)["result"]
        return found

    def panels(self) -> list[str]:
        """The queries of the dashboard that ships, with everything selected."""
        made = json.loads((self._rules / "rackspan-dashboard.json").read_text())
        found = [target["expr"] for panel in made["panels"] for target in panel["targets"]]
        return [re.sub(r'"\$\w+"', '".*"', e).replace("$__rate_interval", _shorter("5m")) for e in found]

    def firing(self) -> set[str]:
        """Names of the alerts that fire, with their rack where they have one."""
        alerts = [a["labels"] for a in self._get("alerts")["alerts"] if a["state"] == "firing"]
        return {" ".join(filter(None, (a["alertname"], a.get("rack")))) for a in alerts}

    def wait_firing(self, *names: str, seconds: float = 120) -> None:
        """Waits until exactly these fire. Raises WaitTimeout."""

        def same() -> bool | Pending:
            found = self.firing()
            return found == set(names) or Pending(f"{sorted(found)} fire")

        wait_for(f"alerts {sorted(names)}", same, seconds, every=0.5)

    def wait_values(self, expression: str, wanted: set[str], seconds: float = 120) -> None:
        """Waits until the samples of an expression have these values. Raises WaitTimeout."""

        def same() -> bool | Pending:
            found = {sample["value"][1] for sample in self.query(expression)}
            return found == wanted or Pending(str(found))

        wait_for(f"{expression} to be {wanted}", same, seconds, every=0.5)

    def wait_panels(self, seconds: float = 60) -> None:
        """Waits until every panel of the dashboard has data. Raises WaitTimeout."""

        def complete() -> bool | Pending:
            empty = [expression for expression in self.panels() if not self.query(expression)]
            return not empty or Pending(f"without data: {empty}")

        wait_for("data in every panel", complete, seconds, every=1)

    def _get(self, what: str, **values: str) -> dict[str, Any]:
        url = f"http://{self._address}/api/v1/{what}?{urllib.parse.urlencode(values)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            data: dict[str, Any] = json.load(answer)["data"]
        return data


def _free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port: int = own.getsockname()[1]
    return port
