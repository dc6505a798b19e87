"""Every command that a document shows is run, in the order of the document."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.dist import find
from harness.home import project_root
from harness.net.trial import attempt

pytestmark = [pytest.mark.documents, pytest.mark.cluster]

DOCUMENTS = sorted(
    p
    for pattern in ("README.md", "docs/*.md", "[!.]*/README.md", "kafka-patch/src/test/README.md")
    for p in project_root().glob(pattern)
    if p.name != "vms.md"  # test_ssh.py runs its commands, where there are machines
)
_COMMAND = re.compile(r"(?:\./rackspan|bin/[a-z-]+\.sh|python -m|gradle|spark-submit) \S")
# What runs this test, and stages of it.
ELSEWHERE = (
    "./rackspan test",
    "./rackspan run",
    "./rackspan bench campaigns/near-far.yaml",
    "./rackspan test system_tests/clients",
    "gradle testPatch",
    "python -m pytest spark_analysis",
)


def commands(text: str) -> list[str]:
    """Commands of a document: whole indented or fenced lines, and code spans in tables and sentences."""
    found = []
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            found.append(line.strip().removeprefix("$ "))
        else:
            found += [span for span in re.findall(r"`([^`]+)`", line) if "..." not in span and "|" not in span]
    return [c for c in found if _COMMAND.match(c)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Clusters of documents live in a home of their own, and are gone afterwards."""
    env = {**os.environ, "RACKSPAN_HOME": str(tmp_path_factory.mktemp("home"))}
    yield env
    subprocess.run(["./rackspan", "down", "--all"], cwd=project_root(), env=env, check=True, timeout=120)


def _run(command: str, env: dict[str, str]) -> str:
    home = find("rackspan").home
    where = home if command.startswith("bin/") else project_root()
    env = {**env, "PATH": f"{project_root() / '.venv' / 'bin'}:{env['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=where, env=env, capture_output=True, text=True, timeout=1500, check=False
    )
    # A document may show what fails: it says so behind the command.
    expected = re.search(r"# exits (\d+)$", command)
    assert done.returncode == int(expected[1] if expected else 0), (
        f"{command}\nexit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    )
    return done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(project_root())))
def test_commands_of(document: Path, environment: dict[str, str]) -> None:
    wanted = [c for c in commands(document.read_text()) if c not in ELSEWHERE]
    if attempt().hindrance:  # some machines cannot have networks; the tests of the back end tell why
        wanted = [c for c in wanted if not re.search(r"netns|\bapart\b", c)]
    brokers = [c for c in wanted if "HOST:9092" in c]
    bootstrap = ""
    if brokers:
        bootstrap = _run("./rackspan up --name documents --racks a:1,b:1,c:1", environment).strip()
        for topic in ("my-topic", "__consumer_offsets"):
            shape = "--partitions 1 --replication-factor 3"
            _run(f"bin/kafka-topics.sh --bootstrap-server {bootstrap} --create --topic {topic} {shape}", environment)
    for command in wanted:
        _run(command.replace("HOST:9092", bootstrap), environment)
    if brokers:
        _run("./rackspan down documents", environment)
    if document.name == "README.md" and document.parent == project_root():
        assert len(wanted) > 5


def test_commands_are_found_and_others_left_alone() -> None:
    text = "Use `bin/kafka-topics.sh --list` or `x.y`, in `gradle/x`.\n\n    ./rackspan up\n    int x;\n\n"
    text += "```\n$ gradle dist\n```\n`./rackspan test ...`\n"
    assert commands(text) == ["bin/kafka-topics.sh --list", "./rackspan up", "gradle dist"]
