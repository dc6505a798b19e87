"""The pipeline on a standalone Spark cluster: a master and two workers, each a process of its own on loopback."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from spark_analysis.locations import Location, copy_files, location
from spark_analysis.session import SMALL, object_store_settings
from spark_analysis.tests.generated import outage_run

BIN = Path(pyspark.__file__).parent / "bin"
ROOT = Path(__file__).parents[2]
PATIENCE_S = 300
QUICK = SMALL["spark.driver.extraJavaOptions"]  # for JVMs that live shortly
FEW = {
    **SMALL,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
}
_ENV = {
    **os.environ,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_NO_DAEMONIZE": "1",
    "PYSPARK_PYTHON": sys.executable,
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": QUICK,
    "SPARK_LAUNCHER_OPTS": QUICK,
}


@dataclass
class Daemon:
    """A process of the cluster, and what it has said so far."""

    process: subprocess.Popen[bytes]
    said: str = ""

    def says(self, pattern: str) -> re.Match[str]:
        """Waits until it has said that."""
        assert self.process.stdout is not None
        end = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.said)):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            assert data, f"{pattern!r} was not said; exit code {self.process.poll()}, the last: {self.said[-2000:]}"
            self.said += data.decode(errors="replace")
        return found


@contextmanager
def daemon(kind: str, *arguments: str) -> Iterator[Daemon]:
    """A master or worker, ended with the block."""
    command = [str(BIN / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *arguments]
    process = subprocess.Popen(command, env=_ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield Daemon(process)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[Path]]]:
    """The master's URL and the workers' folders."""
    work = [tmp_path / "worker-1", tmp_path / "worker-2"]
    with ExitStack() as stack:
        master = stack.enter_context(daemon("master.Master", "--port", "0", "--webui-port", "0"))
        url = master.says(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")[1]
        size = ("--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "600m")
        workers = [stack.enter_context(daemon("worker.Worker", *size, "--work-dir", str(w), url)) for w in work]
        for worker in workers:
            worker.says(r"Successfully registered with master")
        yield url, work


@pytest.mark.timeout(1200)
@pytest.mark.variant
def test_the_report_is_made_by_two_workers(cluster: tuple[str, list[Path]], tmp_path: Path) -> None:
    url, work = cluster
    run, out = outage_run(tmp_path / "outage"), tmp_path / "out"
    look_at(submitted(url, tmp_path, {}, "report", str(run), "--out", str(out)), out, work)


@pytest.mark.timeout(1200)
@pytest.mark.variant
def test_two_workers_read_and_write_an_object_store(
    store: str, cluster: tuple[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, work = cluster
    copy_files(outage_run(tmp_path / "outage"), location(f"{store}/workers/outage"))
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.setitem(_ENV, name, os.environ[name])
    out = location(f"{store}/workers/out")
    arguments = ("report", f"{store}/workers/outage", "--out", str(out))
    look_at(submitted(url, tmp_path, object_store_settings(), *arguments), out, work)


def submitted(
    master: str, folder: Path, settings: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """The analysis, submitted to the cluster with more settings."""
    submit = [str(BIN / "spark-submit"), "--master", master, "--executor-memory", "512m"]
    conf = [part for name, value in {**FEW, **settings}.items() for part in ("--conf", f"{name}={value}")]
    program = [str(ROOT / "spark_analysis" / "__main__.py"), *arguments]
    return subprocess.run(
        [*submit, *conf, *program], env=_ENV, cwd=folder, capture_output=True, text=True, timeout=900, check=False
    )


def look_at(done: subprocess.CompletedProcess[str], out: Location, work: list[Path]) -> None:
    """The report has what the run has, and both workers took part."""
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert done.stdout.strip().splitlines()[-1] == str(out / "report.html")
    document = json.loads((out / "report.json").read_text())
    totals = document["runs"][0]["outage"]["durability"]["totals"]
    assert (totals["acknowledged"], totals["lost"], totals["duplicates"]) == (1100, 1, 1)
    assert document["work"]["computed"] == ["outage"]
    for folder in work:
        assert list(folder.glob("app-*/*/stderr")), f"{folder.name} ran no executor"
