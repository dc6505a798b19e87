"""The scripts of bin/ from their table."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from kpatch import dist, scripts
from kpatch.errors import KpatchError

TABLE = dist.TEMPLATES / "scripts.toml"


def _files(folder: Path) -> Path:
    """bin/ with a kafka-run-class.sh that prints what it is started with."""
    for name, text in scripts.generate(TABLE, own=True).items():
        (folder / name).write_text(text)
    (folder / "kafka-run-class.sh").write_text('#!/bin/sh\necho "$KAFKA_HEAP_OPTS|$KAFKA_LOG4J_OPTS|$*"\n')
    for file in folder.iterdir():
        file.chmod(0o755)
    return folder


def _run(script: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([script, *arguments], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **env})


def test_a_tool_starts_its_class_with_its_heap_unless_the_user_has_set_one(tmp_path: Path) -> None:
    files = _files(tmp_path)
    done = _run(files / "kafka-console-producer.sh", "--topic", "a b")
    assert done.stdout == "-Xmx512M||org.apache.kafka.tools.ConsoleProducer --topic a b\n"
    assert _run(files / "kafka-console-producer.sh", KAFKA_HEAP_OPTS="-Xmx1G").stdout.startswith("-Xmx1G|")
    assert _run(files / "kafka-topics.sh").stdout == "||org.apache.kafka.tools.TopicCommand\n"


def test_a_script_works_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "link.sh").symlink_to(_files(tmp_path / "bin") / "kafka-acls.sh")
    assert "AclCommand" in _run(tmp_path / "link.sh").stdout


def test_a_server_takes_daemon_settings_and_extra_arguments(tmp_path: Path) -> None:
    start = _files(tmp_path) / "kafka-server-start.sh"
    logs = f"-Dlog4j2.configurationFile={tmp_path}/../config/log4j2.yaml"
    plain = _run(start, "-daemon", "s.properties", "--override", "a=b").stdout
    assert plain == f"-Xmx1G -Xms1G|{logs}|-daemon -name kafkaServer -loggc kafka.Kafka s.properties --override a=b\n"
    assert _run(start, "s", EXTRA_ARGS="-name x").stdout.endswith("|-name x kafka.Kafka s\n")
    assert _run(start, "s", EXTRA_ARGS="").stdout.endswith("|kafka.Kafka s\n")
    assert _run(start, "s", KAFKA_LOG4J_OPTS="-Dx").stdout.startswith("-Xmx1G -Xms1G|-Dx|")
    wrong = _run(tmp_path / "connect-distributed.sh")
    usage = "usage: connect-distributed.sh [-daemon] connect-distributed.properties\n"
    assert (wrong.returncode, wrong.stderr) == (1, usage)


def test_scripts_of_our_own_classes_are_in_the_patched_distribution_only() -> None:
    own = set(scripts.generate(TABLE, own=True)) - set(scripts.generate(TABLE, own=False))
    assert own == {"kafka-racks.sh"}


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "scripts.toml"
    table.write_text('[tool]\n"a.sh" = { class = "A", heaps = "-Xmx1G" }\n')
    with pytest.raises(KpatchError, match=r"scripts.toml: a.sh[\s\S]*unknown heaps"):
        scripts.generate(table, own=True)


@pytest.fixture
def run_class(tmp_path: Path) -> Path:
    """kafka-run-class.sh in a distribution of three jars, with a java that prints its arguments."""
    for folder in ("bin", "libs", "java/bin"):
        (tmp_path / folder).mkdir(parents=True)
    for jar in ("connect-file-1.jar", "kafka-1.jar", "kafka-1-test.jar", "jmx_prometheus_javaagent-1.jar"):
        (tmp_path / "libs" / jar).touch()
    java = tmp_path / "java" / "bin" / "java"
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    copy = tmp_path / "bin" / "kafka-run-class.sh"
    copy.write_bytes((dist.TEMPLATES / "bin" / "kafka-run-class.sh").read_bytes())
    copy.chmod(0o755)
    return copy


def _java(run_class: Path, *arguments: str, **env: str) -> list[str]:
    done = _run(run_class, *arguments, **({"JAVA_HOME": str(run_class.parent.parent / "java")} | env))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_variables_of_operators_reach_the_jvm(run_class: Path) -> None:
    home = run_class.parent.parent
    plain = _java(run_class, "C", "x y")
    assert plain[:2] == ["-Xmx256M", "-server"] and plain[-2:] == ["C", "x y"]
    assert f"-Dkafka.logs.dir={home}/logs" in plain and "-Dcom.sun.management.jmxremote=true" in plain
    assert f"-Dlog4j2.configurationFile={home}/config/tools-log4j2.yaml" in plain
    for name, option in {
        "KAFKA_HEAP_OPTS": "-Xmx9M",
        "KAFKA_JVM_PERFORMANCE_OPTS": "-XX:+UseZGC",
        "KAFKA_JMX_OPTS": "-Dj=1",
        "KAFKA_LOG4J_OPTS": "-Dl=1",
        "KAFKA_GC_LOG_OPTS": "-Dg=1",
        "KAFKA_OPTS": "-Do=1",
    }.items():
        lines = _java(run_class, "C", **{name: f"{option} -Dmore=2"})
        assert option in lines and "-Dmore=2" in lines, name
    assert f"-Dkafka.logs.dir={home}/other" in _java(run_class, "C", LOG_DIR=f"{home}/other")
    ports = _java(run_class, "C", JMX_PORT="9999")
    assert [line.rpartition(".")[2] for line in ports if "port=" in line] == ["port=9999", "port=9999"]
    assert any("address=127.0.0.1:5005" in line for line in _java(run_class, "C", KAFKA_DEBUG="y"))


def test_garbage_collections_are_logged_under_the_name_of_the_process(run_class: Path) -> None:
    logs = run_class.parent.parent / "logs"
    lines = _java(run_class, "-name", "n", "-loggc", "C")
    assert f"-Xlog:gc*:file={logs}/n-gc.log:time,tags:filecount=10,filesize=100M" in lines and logs.is_dir()


def test_settings_of_log4j_1_are_read_in_compatibility_mode(run_class: Path) -> None:
    option = "-Dlog4j.configuration=file:/etc/log4j.properties"
    lines = _java(run_class, "C", KAFKA_LOG4J_OPTS=option)
    assert option in lines and "-Dlog4j1.compatibility=true" in lines


def test_the_class_path_has_the_users_first_and_no_plugin_agent_or_test(run_class: Path) -> None:
    libs = run_class.parent.parent / "libs"
    path = _java(run_class, "C", CLASSPATH="/mine/*")
    assert path[path.index("-cp") + 1] == f"/mine/*:{libs}/kafka-1.jar"
    path = _java(run_class, "C", INCLUDE_TEST_JARS="true")
    assert path[path.index("-cp") + 1] == f"{libs}/connect-file-1.jar:{libs}/kafka-1-test.jar:{libs}/kafka-1.jar"


def test_a_daemon_writes_its_output_to_a_file(run_class: Path) -> None:
    logs = run_class.parent.parent / "logs"
    assert _java(run_class, "-daemon", "-name", "n", "C") == []
    for _ in range(100):
        if (logs / "n.out").read_text().endswith("C\n"):
            return
        time.sleep(0.05)
    pytest.fail((logs / "n.out").read_text())
