"""Acknowledged records read back by Spark, straight from a real cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from harness.admin.topics import Topics
from harness.cluster.kafka_cluster import KafkaCluster
from harness.common.paths import project_root
from harness.load.command import Produce, java_command
from harness.load.process import LoadProcess
from harness.load.records import read_acks
from harness.run_folder.run_folder import RunFolder
from harness.tests.load_broker import JAR, LIBS, MISSING
from harness.tests.load_clients import JVM

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(MISSING, reason="needs the load client and stock Kafka's libs"),
]
RECORDS = 300


def lost(run: Path, bootstrap: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spark_analysis", "lost", str(run), "--bootstrap", bootstrap]
    return subprocess.run(
        command,
        cwd=project_root(),
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_acknowledged_records_are_read_back_by_spark(shared: KafkaCluster, tmp_path: Path) -> None:
    Topics(shared.bootstrap).create("kept", [(1, 2, 3), (2, 3, 1), (3, 1, 2)])
    requested = Produce("p1", shared.bootstrap, "kept", tmp_path / "sends.bin", rate=150, duration=RECORDS / 150)
    with LoadProcess(java_command(JAR, LIBS, requested.args(), jvm=JVM), tmp_path / "client.log") as client:
        assert client.finish(120)["acked"] == RECORDS
    acks = read_acks(requested.out)
    run = RunFolder.create(tmp_path / "runs", "kept")
    # One more, which no broker has: the check must report this one, and no other.
    phantom = {**acks.to_pylist()[-1], "seq": 10 * RECORDS, "offset": 10 * RECORDS}
    run.add_acks(pa.concat_tables([acks, pa.Table.from_pylist([phantom], acks.schema)]))
    done = lost(run.path, shared.bootstrap)
    assert done.returncode == 1, f"{done.stdout}\n{done.stderr[-3000:]}"
    result = json.loads(done.stdout)
    assert (result["state"], result["totals"]["acknowledged"], result["totals"]["lost"]) == (
        "checked",
        RECORDS + 1,
        1,
    )
    assert [r["seq"] for r in result["lost_first"]] == [10 * RECORDS]
    assert (result["totals"]["moved"], result["totals"]["duplicates"], result["phantoms"]) == (0, 0, 0)
