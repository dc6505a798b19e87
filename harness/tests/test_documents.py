"""Every command that a document shows is run, in the order of the document."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import groupby
from pathlib import Path

import pytest

from harness.admin.cluster_defaults import set_default
from harness.admin.topics import Topics
from harness.common.paths import project_root
from harness.distribution.locate import find
from harness.network.netns_support import attempt
from harness.tests.commands import without_start
from harness.tests.kafka_tools import tool_environment

pytestmark = [pytest.mark.documents, pytest.mark.cluster, pytest.mark.timeout(600)]

DOCUMENTS = sorted(
    {
        p
        for pattern in ("*.md", "docs/**/*.md", "[!.]*/README.md", "kafka-patch/src/test/README.md")
        for p in project_root().glob(pattern)
        if p.name != "machines.md"  # test_ssh.py runs its commands, where there are machines
    }
)
_COMMAND = re.compile(r"(?:\./rackspan|bin/[a-z-]+\.sh|(?:\.venv/bin/)?python -m|gradle|spark-submit) \S")
# What `rackspan test` runs besides: before its stages, as stages of their own, and inside them.
ELSEWHERE = {
    "./rackspan test": "runs this test",
    "./rackspan test --full": "runs this test",
    "gradle dist": "before the stages",
    "gradle stockDist": "before the stages",
    "gradle checkPatches": "before the stages",
    "gradle checkChanges": "before the stages",
    "gradle benchmark": "test_documents runs it with fewer rounds, from kafka-patch/README.md",
    "./rackspan run": "main job",
    "./rackspan verify-stock": "upstream tests",
    "./rackspan verify-base": "other bases",
    "gradle testPatch": "JUnit tests of the patches",
    "gradle models": "patch tool",
    "gradle compilePatches": "tool chain and reproducible build, with --full",
    "./rackspan test --stage analysis": "analysis",
    "./rackspan report runs/*-outage runs/*-bench-far-rack --out build/report": "main job, on its runs",
    "./rackspan check runs/*-cycle-1 --out build/check": "the soak, on its own runs",
    "./rackspan bench campaigns/near-far.yaml": "test_bench.py has a campaign that is over sooner",
    "./rackspan report --into docs/results/performance.md": "test_bench.py, into a document of its own",
    "./rackspan test system_tests/third_party_clients": "acks system tests",
    "./rackspan test system_tests/sanity/harness_test.py": "acks system tests",
    "./rackspan test system_tests/suites/smoke.yml": "system tests and main job; test_runner.py looks at the suite",
}

# Commands of more than 20 s, and those that read their results: only `rackspan test --full` runs them.
HEAVY = (
    "./rackspan soak --cycles 1 --seed 1",
    "./rackspan bench quiet --rounds 1 --block 2 --warmup 2",
    "./rackspan report",
    "./rackspan report --gate docs/results/gates.yaml # exits 1",
    "./rackspan report --from-counts build/report --out build/recomputed",
    "gradle mavenRepository",
    "./rackspan package",
    "gradle devDist",
    "gradle simulate -Pseeds=1000",
    "gradle simulate -Pseeds=300 -Prules=each",
    "gradle models -Pnames=elections,sessions",
    "gradle benchmark -Prounds=1 -Pjmh='-f 0 -wi 0 -i 1 -r 100ms -p replicas=3'",
    "./rackspan verify-stock --tier full 'kafka.cluster.Partition*' -o json",
    "./rackspan verify-stock --level 0 FormatterTest",
    "./rackspan check spark_analysis/tests/data/soak-cycle --out build/check",
    ".venv/bin/python -m spark_analysis.benchmarks.checker --records 1e4",
    ".venv/bin/python -m harness.benchmark.cold_start --rounds 10",
    ".venv/bin/python -m harness.benchmark.large_cluster --rounds 5",
    ".venv/bin/python -m harness.benchmark.member_hang --trials 12",
    ".venv/bin/python -m harness.benchmark.slow_rack",
)

SLOW = [pytest.mark.slow, pytest.mark.timeout(1800)]

# Documents of a minute or more, with clusters of their own: only `rackspan test --full` runs them.
LONG = (
    "docs/operations/README.md",
    "docs/operations/rolling-restart.md",
    "docs/quickstart.md",
    "harness/README.md",
    "system_tests/README.md",
)

# Topics that documents name, and the settings that they may change: a page on upgrades shows that none is left.
TOPICS = ("my-topic", "__consumer_offsets")
SETTINGS = (
    "min.insync.racks",
    "min.insync.racks.strict.placement",
    "min.insync.replicas.inconsistent.action",
    "acks.all.scope",
)

# What a heavy command needs that a quick one of its document makes: either group runs by itself.
FIRST = {"gradle devDist": "gradle applyPatches"}


def commands(text: str) -> list[str]:
    """Commands of a document: complete indented or fenced lines, and code spans in tables and sentences."""
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


class Brokers:
    """The cluster that stands for HOST in documents, there from its first use on."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env
        self._bootstrap = ""

    @contextmanager
    def fresh(self, lowered: bool) -> Iterator[str]:
        """The bootstrap address, with the topics that documents name; their settings are taken away afterwards,
        and a level that was `lowered` is raised again.
        """
        if not self._bootstrap:
            up = "./rackspan up --name documents --racks a:1,b:1,c:1 --controllers 1"
            self._bootstrap = _run_quickly(up, self._env).strip()
            for topic in TOPICS:
                Topics(self._bootstrap).create(topic, [[1, 2, 3]])
        yield self._bootstrap
        for setting in SETTINGS:
            set_default(self._bootstrap.split(","), setting, None)
            for topic in TOPICS:
                Topics(self._bootstrap).unset(topic, setting)
        if lowered:
            at = f"--bootstrap-server {self._bootstrap}"
            _run(f"bin/kafka-features.sh {at} upgrade --feature rackspan.version=2", self._env)


@pytest.fixture(scope="module")
def brokers(environment: dict[str, str]) -> Brokers:
    return Brokers(environment)


def _run(command: str, env: dict[str, str]) -> str:
    where = project_root()
    env = {**env, "PATH": f"{project_root() / '.venv' / 'bin'}:{env['PATH']}"}
    if command.startswith("bin/"):
        where = find("rackspan").home
        env |= tool_environment("rackspan", f"{env['RACKSPAN_HOME']}/logs")
    done = subprocess.run(
        ["bash", "-c", command], cwd=where, env=env, capture_output=True, text=True, timeout=1500, check=False
    )
    # A document may show what fails: it says so behind the command.
    expected = re.search(r"# exits (\d+)$", command)
    assert done.returncode == int(expected[1] if expected else 0), (
        f"{command}\nexit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    )
    return done.stdout


def _run_quickly(command: str, env: dict[str, str]) -> str:
    """The same, without the start of Python where the command is `rackspan`."""
    done = without_start(command, Path(env["RACKSPAN_HOME"]), 1500)
    if done is None:
        return _run(command, env)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def _joined(wanted: list[str]) -> Iterator[str]:
    """The same, but tasks of Gradle that follow each other with one start of it, which takes longer than most tasks."""
    for plain, group in groupby(wanted, key=lambda c: re.fullmatch(r"gradle \w+", c) is not None):
        if plain:
            yield " ".join(["gradle", *(command.split()[1] for command in group)])
        else:
            yield from group


def _wanted(document: Path, heavy: bool) -> list[str]:
    """Commands of a document that are run here: its heavy ones, or all others."""
    return [c for c in commands(document.read_text()) if c not in ELSEWHERE and (c in HEAVY) == heavy]


def _of(documents: list[Path]) -> pytest.MarkDecorator:
    named = {str(d.relative_to(project_root())): d for d in documents}
    return pytest.mark.parametrize(
        "document",
        [pytest.param(d, id=name, marks=SLOW if name in LONG else []) for name, d in named.items()],
    )


@_of(sorted(DOCUMENTS, key=lambda d: "HOST:9092" in d.read_text()))  # their cluster is not up for the others
def test_commands_of(document: Path, environment: dict[str, str], brokers: Brokers) -> None:
    wanted = _wanted(document, heavy=False)
    apart = [c for c in wanted if re.search(r"netns|\bapart\b", c)]
    if apart and attempt().skip_reason:  # some machines cannot have networks; the tests of the backend report why
        wanted = [c for c in wanted if c not in apart]
    lowered = any("--remove" in c for c in wanted)
    with brokers.fresh(lowered) if any("HOST:9092" in c for c in wanted) else nullcontext("") as bootstrap:
        run = _run  # as a user does; once a document, as Python takes its time to start
        for command in _joined(wanted):
            run(command.replace("HOST:9092", bootstrap), environment)
            run = _run_quickly if command.startswith("./rackspan") else run
    if document.name == "README.md" and document.parent == project_root():
        assert len(wanted) > 5


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("command", HEAVY)
def test_heavy_command(command: str, environment: dict[str, str]) -> None:
    """Once each, whichever documents show it, in the order of the list: later ones read what earlier ones leave."""
    if command in FIRST:
        _run(FIRST[command], environment)
    _run(command, environment)
    if command.startswith("./rackspan soak"):
        assert list(project_root().glob("runs/*-cycle-1")), "the soak left no run of the name that the page evaluates"


def test_every_command_is_run_here_or_elsewhere() -> None:
    """The default and --full together skip none."""
    run = [c for d in DOCUMENTS for heavy in (False, True) for c in _wanted(d, heavy)]
    assert {c for d in DOCUMENTS for c in commands(d.read_text())} == {*run, *ELSEWHERE}
    assert set(HEAVY) <= set(run) and not set(HEAVY) & set(ELSEWHERE)


def test_no_benchmark_or_soak_of_full_length_is_among_the_quick_commands() -> None:
    quick = [c for d in DOCUMENTS for c in _wanted(d, heavy=False)]
    full = re.compile(r"\./rackspan (bench|soak) (?!.*(--rounds|--cycles|--help)\b)")
    assert not [c for c in quick if full.match(c)], "give its length, or list it as heavy"
    assert full.match("./rackspan bench levels") and not full.match("./rackspan bench quiet --rounds 1")


def test_long_documents_are_there() -> None:
    assert set(LONG) <= {str(d.relative_to(project_root())) for d in DOCUMENTS}


def test_what_runs_elsewhere_is_still_in_a_document() -> None:
    assert set(ELSEWHERE) <= {c for d in DOCUMENTS for c in commands(d.read_text())}


def test_commands_are_found_and_others_left_alone() -> None:
    text = "Use `bin/kafka-topics.sh --list` or `x.y`, in `gradle/x`.\n\n    ./rackspan up\n    int x;\n\n"
    text += "```\n$ gradle dist\n```\n`./rackspan test ...`\n"
    assert commands(text) == ["bin/kafka-topics.sh --list", "./rackspan up", "gradle dist"]
