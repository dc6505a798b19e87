"""Clusters that tests of a session share: given back as they were, ended when they are not, gone with the session."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cluster import cluster_folders
from harness.common.paths import project_root
from harness.common.wait import Pending, wait_for
from harness.ducktape_support.ducktape_main import requested_spec, turn
from harness.ducktape_support.reuse import last_of_its_cluster
from harness.ducktape_support.session import charge, read_report, run_suite
from harness.ducktape_support.shared_clusters import SharedCluster, key_of
from harness.tests.conftest import small
from harness.tests.limits import STUCK

TESTS = """
import signal
import time

from ducktape.tests.test import Test

from harness.admin.topics import Topics
from harness.common.process_tree import end_with_parent
from harness.common.wait import wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.tests.conftest import small
from harness.tests.limits import STUCK

ANSWERS = "kafka_network_RequestMetrics_Errors_total"


class Sharing(Test):
    def cluster(self):
        kafka = KafkaRacks(self.test_context, small("shared", racks="a:1"), shared=True)
        kafka.start()
        return kafka

    def test_1_begins(self):
        kafka = self.cluster()
        kafka.kafka.kill("a1")
        kafka.kafka.start("a1")
        Topics(kafka.bootstrap).create("t", [[1]])
        assert kafka.metric(ANSWERS, request="CreateTopics") >= 1
        wait_for("the log of t", lambda: kafka.logged("a1", "Created log for partition t-0"), STUCK)
        kafka.end()
        return kafka.kafka.name

    def test_2_has_the_same_without_its_topic(self):
        kafka = self.cluster()
        assert kafka.kafka.view().partitions == ()
        assert kafka.metric(ANSWERS, request="CreateTopics") == 0
        assert kafka.logged("a1", "Created log for partition t-0") == []
        Topics(kafka.bootstrap).create("t", [[1]])
        Topics(kafka.bootstrap).set_broker(1, "log.cleaner.threads", 2)
        kafka.end()
        return kafka.kafka.name

    def test_3_has_another(self):
        kafka = self.cluster()
        kafka.kafka.kill("a1")
        assert False, "it fails"

    def test_4_has_a_third_one(self):
        kafka = self.cluster()
        kafka.end()
        return kafka.kafka.name


class Waiting(Test):
    def test_waits_beside_an_idle_cluster(self):
        end_with_parent(signal.SIGTERM)
        kafka = KafkaRacks(self.test_context, small("shared", racks="a:1"), shared=True)
        kafka.start()
        kafka.end()
        time.sleep(600)
"""


@pytest.fixture
def suite() -> Iterator[Path]:
    """A file of tests inside the project, where ducktape can import it."""
    (project_root() / "results").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sharing", dir=project_root() / "results") as place:
        (Path(place) / "__init__.py").touch()
        (Path(place) / "sharing_test.py").write_text(TESTS)
        yield Path(place) / "sharing_test.py"


@pytest.mark.cluster
def test_a_cluster_serves_tests_until_one_leaves_it_otherwise(home: Path, suite: Path, tmp_path: Path) -> None:
    result = run_suite([f"{suite}::Sharing"], tmp_path)
    assert [o.status for o in result.outcomes] == ["PASS", "PASS", "FAIL", "PASS"], result.lines()
    rows = json.loads((result.folder / "report.json").read_text())["results"]
    names = [row["data"] for row in rows]
    assert names[0] == names[1] != names[3] and names[2] is None
    records = [SharedCluster.load(f) for f in sorted(result.folder.parent.glob("clusters/*.json"))]
    assert [len(r.tests) for r in sorted(records, key=lambda r: r.tests)] == [2, 1, 1]
    assert not any(r.held for r in records)
    assert cluster_folders.remains() == []
    assert list((result.folder / "Sharing").glob("test_1*/*/*/a1/logs/server.log")), "no logs were collected"


@pytest.mark.cluster
def test_a_killed_session_leaves_no_cluster(home: Path, suite: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "harness.ducktape_support.session", "--results", str(tmp_path)]
    with subprocess.Popen([*command, f"{suite}::Waiting"], cwd=project_root()) as session:
        record = wait_for("a cluster to be idle", lambda: idle(tmp_path), 120)
        assert record.held
        os.kill(session.pid, signal.SIGKILL)
        wait_for("the cluster to end", lambda: not record.held and not cluster_folders.remains(), STUCK)


def idle(folder: Path) -> SharedCluster | Pending:
    """The only cluster of the session when its test has given it back."""
    records = [SharedCluster.load(f) for f in folder.glob("*/clusters/*.json")]
    return next((r for r in records if not r.user), Pending(f"{records}"))


def test_specs_are_the_same_but_for_their_name() -> None:
    assert key_of(small("one")) == key_of(small("two"))
    assert key_of(small("one")) != key_of(small("one", settings={"broker.session.timeout.ms": 9000}))


def test_tests_are_sorted_by_the_spec_in_their_source() -> None:
    class Some:
        def of_its_own(self) -> object:
            return self.spec("a:1", controllers=3)

        def elsewhere(self) -> None: ...

        def spec(self, racks: str, controllers: int = 1) -> object:
            return racks, controllers

    assert requested_spec(Some.of_its_own, Some) == "self.spec('a:1', controllers=3)"
    assert requested_spec(Some.elsewhere, Some) == "self.spec('a:1', controllers=3)"
    assert requested_spec(Some.elsewhere, len) == ""


def test_a_test_that_ends_its_cluster_is_the_last_of_its_spec() -> None:
    class Some:
        @last_of_its_cluster
        def early_name(self) -> object:
            return self.spec("a:1")

        def late_name(self) -> object:
            return self.spec("a:1")

        def spec(self, racks: str) -> object:
            return racks

    assert sorted([Some.early_name, Some.late_name], key=lambda test: turn(test, Some)) == [
        Some.late_name,
        Some.early_name,
    ]


def test_a_cluster_that_ends_badly_fails_its_last_test(tmp_path: Path) -> None:
    rows = [
        {
            "test_id": f"system_tests.x.y_test.Y.{name}",
            "module_name": "system_tests.x.y_test",
            "cls_name": "Y",
            "function_name": name,
            "test_status": "PASS",
            "start_time": number,
            "run_time_seconds": 3.2,
            "summary": "Test Passed",
            "relative_results_dir": f"Y/{name}/1/",
        }
        for number, name in enumerate(("first", "second", "other"))
    ]
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"results": rows}))
    tests = [str(row["test_id"]) for row in rows[:2]]
    cluster = SharedCluster(name="test-7-1", key="k", holder="7 1", user=0, tests=tests, violations=["a1 left a port"])
    charge(report, [cluster])
    outcomes = read_report(report)
    assert [o.status for o in outcomes] == ["PASS", "FAIL", "PASS"]
    assert outcomes[1].why == (
        "cluster test-7-1 of system_tests.x.y_test.Y.first, system_tests.x.y_test.Y.second did not end well: "
        "a1 left a port"
    )
