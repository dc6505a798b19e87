"""The test cluster, its accounts, and a session's summary; nothing of Kafka runs here."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from ducktape.cluster.cluster_spec import ClusterSpec
from ducktape.cluster.finite_subcluster import FiniteSubcluster
from ducktape.cluster.node_container import InsufficientResourcesError
from ducktape.cluster.remoteaccount import RemoteCommandError
from ducktape.tests import loader
from ducktape.tests.session import SessionContext

from harness.backends.local import LocalHost
from harness.common.errors import Exit, RackspanError
from harness.common.paths import project_root
from harness.common.process_tree import children
from harness.ducktape_support.host_account import HostAccount
from harness.ducktape_support.rack_cluster import RackCluster, nodes_by_type
from harness.ducktape_support.session import SessionResult, read_report, run_suite
from harness.ducktape_support.suites import CLIENT_TESTS, chosen_tests, include


@pytest.fixture
def account(tmp_path: Path) -> HostAccount:
    made = HostAccount("a-1", "a", LocalHost("a-1", "127.0.0.1", str(tmp_path / "own")))
    made.bind(LocalHost("a1", "127.77.1.1", str(tmp_path / "bound")), "a1")
    return made


def test_commands_run_in_the_folder_of_the_bound_host(account: HostAccount, tmp_path: Path) -> None:
    assert account.hostname == "a1" and account.externally_routable_ip == "127.77.1.1"
    assert account.ssh("echo there > file") == 0
    assert (tmp_path / "bound" / "file").read_text() == "there\n"
    assert account.ssh_output("cat file; echo oops >&2") == b"there\noops\n"
    assert account.ssh_output("cat file; echo oops >&2", combine_stderr=False) == b"there\n"


def test_a_failed_command_is_an_error_unless_allowed(account: HostAccount) -> None:
    assert account.ssh("exit 3", allow_fail=True) == 3
    with pytest.raises(RemoteCommandError, match="non-zero exit status 3"):
        account.ssh("exit 3")
    with pytest.raises(RemoteCommandError, match="non-zero exit status 4"):
        list(account.ssh_capture("echo one; exit 4"))


def test_lines_come_as_they_are_printed(account: HostAccount) -> None:
    assert list(account.ssh_capture("printf 'one\\ntwo\\n'", callback=str.strip)) == ["one", "two"]
    assert account.alive(os.getpid())


def test_files_go_both_ways(account: HostAccount, tmp_path: Path) -> None:
    account.create_file("logs/a.log", "text")
    assert account.isdir("logs") and account.isfile("logs/a.log") and account.exists("logs/a.log")
    assert not account.isfile("logs") and not account.exists("nothing")
    assert account.open("logs/a.log").read() == b"text"
    collected = tmp_path / "collected"
    collected.mkdir()
    account.copy_from("logs", str(collected))
    account.copy_from("nothing", str(collected))
    assert [p.relative_to(collected) for p in collected.rglob("*")] == [Path("logs"), Path("logs/a.log")]
    (tmp_path / "up.txt").write_text("up")
    account.copy_to(str(tmp_path / "up.txt"), "logs")
    assert account.open("logs/up.txt").read() == b"up"
    with pytest.raises(ValueError, match="write with create_file"):
        account.open("logs/a.log", "w")


def test_an_account_goes_back_to_its_slot(account: HostAccount) -> None:
    account.close()
    assert (account.hostname, account.externally_routable_ip) == ("a-1", "127.0.0.1")


def test_nodes_are_given_out_by_rack() -> None:
    cluster = RackCluster()
    nodes = cluster.alloc(nodes_by_type(["a", "b", "b"]))
    assert [n.account.node_type for n in nodes] == ["a", "b", "b"]
    free = cluster.available().size()
    cluster.free(nodes)
    assert cluster.available().size() == free + 3
    with pytest.raises(InsufficientResourcesError, match="linux/e nodes requested: 1"):
        cluster.alloc(nodes_by_type(["e"]))


def test_racks_survive_the_way_into_a_test_process() -> None:
    """ducktape gives a test a sub-cluster, pickled; a service inside it requires racks once more."""
    given = FiniteSubcluster(RackCluster().alloc(nodes_by_type(["a", "c"])))
    copy = pickle.loads(pickle.dumps(given))
    assert [n.node_type for n in copy.alloc(nodes_by_type(["c"]))] == ["c"]
    assert isinstance(copy.available(), ClusterSpec)


def test_slots_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text('{"slots": {"x": 2}}')
    assert len(RackCluster(cluster_file=str(file))) == 2
    file.write_text('{"slots": {"x": "two"}}')
    with pytest.raises(RackspanError, match="describes no test cluster"):
        RackCluster(cluster_file=str(file))


def test_children_are_those_that_live() -> None:
    code = "import subprocess, time; p = subprocess.Popen(['true']); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid in children(os.getpid())
        child.kill()
    assert child.pid not in children(os.getpid())


def report(folder: Path) -> Path:
    """A report as ducktape writes it, with one failure behind one success."""
    tests = [("passes", "PASS", 2.0, "Test Passed", 1), ("fails", "FAIL", 1.0, "\n\nAssertionError('x')\ntrace", 2)]
    rows = [
        {
            "test_id": f"system_tests.x.y_test.Y.{name}",
            "module_name": "system_tests.x.y_test",
            "cls_name": "Y",
            "function_name": name,
            "test_status": status,
            "start_time": start,
            "run_time_seconds": 3.2,
            "summary": summary,
            "relative_results_dir": f"Y/{name}/{number}/",
        }
        for name, status, start, summary, number in tests
    ]
    file = folder / "report.json"
    file.write_text(json.dumps({"results": rows}))
    return file


def test_a_summary_begins_with_failures_and_says_how_to_repeat_them(tmp_path: Path) -> None:
    outcomes = read_report(report(tmp_path))
    assert [o.status for o in outcomes] == ["FAIL", "PASS"]
    result = SessionResult(tmp_path, tuple(outcomes), Exit.FAILED)
    assert result.lines() == [
        "FAIL x.y_test.Y.fails (3 s)",
        "  AssertionError('x')",
        f"  logs: {tmp_path / 'Y/fails/2'}",
        "  again: ./rackspan test 'system_tests/x/y_test.py::Y.fails'",
        "pass   x.y_test.Y.passes (3 s)",
        f"1 passed, 1 failed; reports in {tmp_path}",
    ]


USES_A_FOLDER = """
from pathlib import Path

from ducktape.tests.test import Test

from harness.ducktape_support.program_service import ProgramService


class Uses(Test):
    def test_a_program(self):
        program = ProgramService(self.test_context, "sleeper")
        program.run(["sleep", "600"], {})
        program.require_running()
        assert program.log.exists()
        Path(__file__).with_name("folder").write_text(str(program.folder))
"""


def test_the_folder_of_a_program_goes_with_its_test(tmp_path: Path) -> None:
    (project_root() / "results").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="uses", dir=project_root() / "results") as place:
        (Path(place) / "__init__.py").touch()
        (Path(place) / "uses_test.py").write_text(USES_A_FOLDER)
        session = run_suite([place], tmp_path)
        folder = Path((Path(place) / "folder").read_text())
    assert session.code is Exit.OK, session.lines()
    assert list(session.folder.glob("**/program.log")), "what the program printed is collected"
    assert not folder.exists()


SECOND_TIME_LUCKY = """
from pathlib import Path

from ducktape.tests.test import Test


class Lucky(Test):
    def test_passes_the_second_time(self):
        mark = Path(__file__).with_name("mark")
        found = mark.exists()
        mark.touch()
        assert found, "no mark yet"
"""


def test_a_second_attempt_is_reported_apart(tmp_path: Path) -> None:
    (project_root() / "results").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lucky", dir=project_root() / "results") as place:
        (Path(place) / "__init__.py").touch()
        (Path(place) / "lucky_test.py").write_text(SECOND_TIME_LUCKY)
        once = run_suite([place], tmp_path / "once")
        (Path(place) / "mark").unlink()
        twice = run_suite([place], tmp_path / "twice", attempts=2)
    assert (once.code, [o.status for o in once.outcomes]) == (Exit.FAILED, ["FAIL"])
    assert (twice.code, [o.status for o in twice.outcomes]) == (Exit.OK, ["FLAKY"])
    assert (once.folder / "report.txt").is_file() and not list(once.folder.glob("*.html")), "its page is blank offline"
    lines = twice.lines()
    assert lines[0].startswith("FLAKY ") and "test_passes_the_second_time" in lines[0]
    assert lines[1] == "  AssertionError('no mark yet')"
    assert lines[-1].startswith("1 passed, 0 failed, 1 of them at the second attempt; ")


@pytest.mark.parametrize(
    ("path", "words"),
    [("system_tests/nothing", "system tests 'system_tests/nothing' not found"), ("/etc", "not below")],
)
def test_what_is_no_test_is_refused(path: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(RackspanError) as caught:
        run_suite([path], tmp_path)
    assert words in str(caught.value) and caught.value.code is Exit.USAGE


def test_suites_name_what_there_is() -> None:
    files = sorted((project_root() / "system_tests/suites").glob("*.yml"))
    for file in files:
        paths = [file.parent / path for part in yaml.safe_load(file.read_text()).values() for path in part]
        assert [path for path in paths if not path.exists()] == []
    tests = loader.TestLoader(SessionContext(session_id="1", results_dir=""), logging.getLogger("suites"))
    found = {file.stem: {test.cls_name for test in tests.load([str(file)])} for file in files}
    assert all(found.values())
    assert found["smoke"] == {"Harness", "Networks", "SpanningIsr"}
    assert {"SpanningIsr", "RackDown", "Lowering", "Thresholds", "DefaultAsStock", "Recovery"} == found["plan"]


@pytest.mark.parametrize(
    ("suite", "clients"),
    [
        ("third_party_clients", True),
        ("system_tests/third_party_clients/matrix_test.py::ClientMatrix.test_all_clients", True),
        ("system_tests/frameworks/spark_test.py", True),
        ("system_tests", True),
        ("smoke", False),
        ("system_tests/rack_outage/stock_clients_test.py", False),
    ],
)
def test_clients_are_built_for_the_tests_that_run_them(suite: str, clients: bool) -> None:
    assert include(chosen_tests([suite]), *CLIENT_TESTS) is clients


def test_a_session_without_tests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RackspanError, match="no system test was run") as caught:
        run_suite(["system_tests/lib"], tmp_path)
    assert "ducktape ended with 1" in caught.value.observed
