"""The command without a cluster: output, errors and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.backends.local import LocalHost
from harness.cli.app import app
from harness.cli.logs import Tail, selected
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.distribution.locate import find
from harness.tests.commands import PROGRAM, environment, rackspan


def test_without_a_cluster_the_error_says_how_to_start_one(home: Path) -> None:
    ran = rackspan("status", home=home)
    assert ran.returncode == Exit.USAGE and ran.stdout == ""
    assert ran.stderr == (
        "error: no cluster found\n  observed: this user has no cluster on this machine\n"
        "  do:       start one with `rackspan up`\n"
    )
    named = rackspan("logs", "a1", "--cluster", "lab", home=home)
    assert named.returncode == Exit.USAGE
    assert named.stderr == (
        "error: cluster 'lab' not found\n  observed: clusters: none\n"
        "  do:       start it with `rackspan up --name lab`, or name another one\n"
    )
    listed = rackspan("ls", "-o", "json", home=home)
    assert (listed.returncode, json.loads(listed.stdout)) == (0, [])
    assert rackspan("down", "--all", home=home).stderr == "no cluster found: nothing to remove\n"


def test_a_cluster_is_named_by_argument_or_option_and_not_by_two_names(home: Path) -> None:
    for verb in ("status", "env", "down"):
        both = rackspan(verb, "lab", "--cluster", "other", home=home)
        assert (both.returncode, both.stdout) == (Exit.USAGE, "")
        assert both.stderr == (
            "error: two different clusters are named\n  observed: argument lab, --cluster other\n"
            "  do:       name the cluster once\n"
        )
    for named in (["lab"], ["-c", "lab"], ["lab", "--cluster", "lab"]):
        assert "error: cluster 'lab' not found\n" in rackspan("status", *named, home=home).stderr
    assert rackspan("down", "--cluster", "lab", home=home).stderr == "cluster 'lab' not found: nothing to remove\n"


def test_version_is_that_of_the_project_and_of_its_base(home: Path) -> None:
    printed = rackspan("--version", home=home)
    assert printed.returncode == 0
    assert re.fullmatch(r"rackspan \d+\.\d+\.\d+, based on Apache Kafka \d+\.\d+\.\d+\n", printed.stdout)
    version = printed.stdout.split()[-1]
    assert re.search(rf'^version = "{version}"', (project_root() / "kafka-patch/upstream.toml").read_text(), re.M)


def test_a_full_disk_and_a_closed_pipe_end_the_output_without_a_traceback(home: Path) -> None:
    def written_to(file: int) -> tuple[int, str]:
        command = [*PROGRAM, "ls", "-o", "json"]
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True, env=environment(home))
        return done.returncode, done.stderr

    with Path("/dev/full").open("w") as full:
        assert written_to(full.fileno()) == (
            Exit.ENVIRONMENT,
            "error: a disk is full\n  observed: [Errno 28] No space left on device\n"
            "  do:       make room on it (see `df`), then run it again\n",
        )
    reads, writes = os.pipe()
    os.close(reads)
    assert written_to(writes) == (Exit.FAILED, "")
    os.close(writes)


def test_a_state_home_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    refused = rackspan("up", "--racks", "a:1", home=file)
    assert refused.returncode == Exit.ENVIRONMENT
    assert refused.stderr == (
        f"error: cannot use {file}, where clusters are kept\n  observed: [Errno 20] Not a directory: '{file}/locks'\n"
        "  do:       set RACKSPAN_HOME to a folder that you may write to\n"
    )


def test_dry_run_prints_the_plan_and_starts_nothing(home: Path) -> None:
    ran = rackspan("up", "--racks", "a:1,b:1", "--controllers", "1", "--dry-run", home=home)
    assert ran.returncode == 0
    rows = [line.split() for line in ran.stdout.splitlines()[1:]]
    assert [r[:5] for r in rows] == [
        ["a1", "a", "broker", "1", "127.77.1.1:9092"],
        ["b1", "b", "broker", "2", "127.77.2.1:9092"],
        ["ctrl-1", "a", "controller", "101", "127.77.1.101:9093"],
    ]
    assert not (home / "clusters").exists()


def test_a_bad_spec_is_a_usage_error(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("apiVersion: rackspan/v1\nrack: {a: 1}\n")
    ran = rackspan("up", "-f", str(file), home=home)
    assert ran.returncode == Exit.USAGE
    assert ran.stderr.startswith(
        f"error: {file} is not valid\n  observed: no key 'rack'; did you mean 'racks'?\n  do:       "
    )
    assert "Traceback" not in ran.stderr
    pair = rackspan("up", "--set", "x", home=home)
    assert pair.returncode == Exit.USAGE and "invalid --set x" in pair.stderr
    assert rackspan("upp", home=home).returncode == Exit.USAGE


def test_a_missing_distribution_is_named_with_how_to_build_it(home: Path, tmp_path: Path) -> None:
    with pytest.raises(RackspanError) as e:
        find("stock", built=tmp_path)
    assert str(e.value) == (
        "distribution stock not found\n"
        f"  observed: no folder stock-kafka_* in {tmp_path}\n"
        "  do:       build it with `./rackspan build`"
    )
    ran = rackspan("up", "--distribution", str(tmp_path), home=home)
    assert ran.returncode == Exit.ENVIRONMENT
    assert "bin/kafka-server-start.sh, bin/kafka-storage.sh, libs missing" in ran.stderr
    assert not (home / "clusters" / "rackspan").exists()


def test_an_unknown_base_is_a_usage_error(home: Path) -> None:
    ran = rackspan("verify-base", "1.2.3", home=home)
    assert ran.returncode == Exit.USAGE and ran.stdout == ""
    assert ran.stderr == "error: base 1.2.3 not found\n  observed: known: 4.2.1\n  do:       name one of them\n"


def test_the_newest_build_is_found(tmp_path: Path) -> None:
    for number in (9, 10):
        home = tmp_path / f"rackspan-kafka_2.13-4.3.1-{number}"
        (home / "bin").mkdir(parents=True)
        (home / "libs").mkdir()
        for name in ("kafka-server-start.sh", "kafka-storage.sh"):
            (home / "bin" / name).touch()
    assert find("rackspan", built=tmp_path).version == "rackspan-kafka_2.13-4.3.1-10"


def test_doctor_passes_where_clusters_run(home: Path) -> None:
    ran = rackspan("doctor", "-o", "json", home=home)
    assert ran.returncode == 0
    checks = {c["name"]: c for c in json.loads(ran.stdout)}
    assert checks["java 17 or later"]["ok"] and checks["loopback addresses"]["ok"]
    assert checks["memory"]["observed"].endswith("MB available")


def test_doctor_exits_with_4_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In this process: a process of its own would find another JDK of the machine."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    ran = CliRunner().invoke(app, ["doctor"])
    assert ran.exit_code == Exit.ENVIRONMENT
    row = next(line for line in ran.stdout.splitlines() if line.startswith("java"))
    assert "missing" in row and "No such file or directory" in row and row.split()[-1] == "everything"


def test_doctor_needs_no_docker(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.77.250.250:1")
    ran = rackspan("doctor", "-o", "json", home=home)
    assert ran.returncode == 0, "nothing needs an engine yet"
    (engine,) = (c for c in json.loads(ran.stdout) if c["name"] == "docker engine")
    assert not engine["ok"] and "127.77.250.250" in engine["observed"]


def test_the_schema_of_a_spec_is_json(home: Path) -> None:
    assert json.loads(rackspan("up", "--schema", home=home).stdout)["title"] == "ClusterSpec"


def test_log_lines_are_selected_by_time_and_pattern() -> None:
    lines = [
        "[2026-01-01 10:00:00,000] INFO old",
        "  its trace",
        "[2026-01-01 10:00:01,500] ERROR new",
        "  its own trace",
    ]
    since = datetime(2026, 1, 1, 10, 0, 1)
    assert list(selected(lines, since, None)) == lines[2:]
    assert list(selected(lines, None, re.compile("trace"))) == [lines[1], lines[3]]


def test_following_a_file_yields_each_complete_line_once(tmp_path: Path) -> None:
    file = tmp_path / "log"
    tail = Tail(LocalHost("a1", "127.77.1.1", str(tmp_path)), str(file))
    assert tail.lines() == []
    file.write_text("one\ntw")
    assert tail.lines() == ["one"]
    file.write_text("one\ntwo\nthree\n")
    assert tail.lines() == ["two", "three"]
    file.write_text("new\n")
    assert tail.lines() == ["new"]
