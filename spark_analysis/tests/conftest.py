"""One small Spark session for all tests, and what several files of tests look at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from spark_analysis import pipeline
from spark_analysis.session import session
from spark_analysis.tests.browser import CHROMIUM, Browser
from spark_analysis.tests.generated import outage_run
from spark_analysis.tests.generated_bench import bench_run, section_of


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    subprocess.run([sys.executable, "-m", "spark_analysis.make_class_archive"], check=True)  # unless there is one
    made = session("local[2]")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def equal_racks(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A benchmark's part of the document: six rounds, nothing broken, any two racks 2 ms apart."""
    return section_of(
        spark, bench_run(tmp_path_factory.mktemp("equal-racks") / "run", rtt_ms={"b": 2.0, "c": 2.0})
    ).data


@pytest.fixture(scope="session")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("report")
    bad = base / "not-a-run"
    runs = [outage_run(base / "outage"), bench_run(base / "bench", rounds=2), bad]
    pipeline.write_report(runs, base / "out")
    return base / "out"


@pytest.fixture(scope="session")
def document(report: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((report / "report.json").read_text())
    return data


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("no chromium on this machine")
    assert CHROMIUM is not None, "no chromium, and here this test may not be skipped: install the package chromium"
    with Browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The URL of a bucket."""
    from moto.server import ThreadedMotoServer  # its import takes a second, and few tests need a store

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_REGION", "us-east-1")
        made = fs.S3FileSystem(allow_bucket_creation=True, endpoint_override=f"http://{host}:{port}")
        made.create_dir("bucket")
        yield "s3a://bucket"
    server.stop()
