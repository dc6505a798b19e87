"""Upstream's tests on two distributions: what is compared, what is remembered, and that a broken class is named."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from harness.common.errors import Exit, RackspanError
from harness.common.hard_links import link_or_copy
from harness.common.paths import locked
from harness.common.progress import Progress
from harness.distribution.locate import find
from harness.tests.commands import rackspan
from harness.upstream_tests.classes import JarClasses, Selection, artifacts, matching, selection
from harness.upstream_tests.comparison import evaluate
from harness.upstream_tests.junit import FAILED, PASSED, ClassResult, JvmRun, parse
from harness.upstream_tests.tables import Row, Table
from harness.upstream_tests.variants import Variant
from harness.upstream_tests.verify import ClassBatch, batches, verify

pytestmark = pytest.mark.usefixtures("brief_jvms")
SELECTION = Selection((), {"default": 300.0, "slow.*": 900.0}, {}, {})
REPORT = """<testsuite name="JUnit Jupiter">
<testcase name="one()" classname="a.ATest" time="1.5"/>
<testcase name="two(int)[1]" classname="a.ATest" time="0.25"><failure message="expected: 1&#10;more"/></testcase>
<testcase name="off()" classname="a.ATest" time="0"><skipped/></testcase>
<testcase name="in()" classname="a.ATest$Deep" time="1"><error message="">a.Bad: x</error></testcase>
<testcase name="one()" classname="b.BTest" time="2"/>
</testsuite>"""


def outcome(**tests: str) -> ClassResult:
    return ClassResult(dict(tests), 1.0)


def test_a_report_is_read_class_by_class(tmp_path: Path) -> None:
    file = tmp_path / "r.xml"
    file.write_text(REPORT)
    found = parse(file, ["a.ATest", "b.BTest", "c.CTest"])
    assert found["a.ATest"].tests == {
        "one()": "passed",
        "two(int)[1]": "failed",
        "off()": "skipped",
        "Deep.in()": "failed",
    }
    assert found["a.ATest"].messages == {"two(int)[1]": "expected: 1", "Deep.in()": "a.Bad: x"}
    assert (found["a.ATest"].seconds, found["b.BTest"].seconds) == (2.75, 2.0)
    assert found["c.CTest"].tests == {}


def test_only_what_passes_on_stock_can_be_broken() -> None:
    stock = outcome(good=PASSED, bad=FAILED, gone=PASSED, known=PASSED)
    patched = ClassResult({"good": PASSED, "bad": FAILED, "known": FAILED, "new": FAILED}, 1.0)
    comparison = evaluate("K", stock, patched, {"K.known": "why"})
    assert (comparison.broken, comparison.known, comparison.both, comparison.stale) == (
        ("gone",),
        ("known",),
        ("bad",),
        (),
    )
    assert comparison.errors == ["K.gone: passes on stock, fails on patched: it is not run there"]


def test_a_listed_test_that_passes_or_is_not_there_is_stale() -> None:
    comparison = evaluate(
        "K", outcome(a=PASSED), outcome(a=PASSED), {"K.a": "why", "K.b": "why", "Kx.a": "other class"}
    )
    assert comparison.stale == ("a", "b")
    assert comparison.errors[0] == "K.a: is listed as different, and is not: take it off the list"


def test_a_second_attempt_recovers_and_is_reported() -> None:
    stock, patched = outcome(a=PASSED, b=PASSED), outcome(a=FAILED, b=FAILED)
    comparison = evaluate("K", stock, patched, {}, again=outcome(a=PASSED, b=FAILED))
    assert (comparison.again, comparison.broken) == (("a",), ("b",))
    assert "a: passed at the second attempt" in comparison.note


def test_a_variant_that_does_not_end(tmp_path: Path) -> None:
    late = ClassResult(failure="no end in 5 s")
    both = evaluate("K", late, late, {"K.a": "why"})
    assert (both.errors, both.failure) == ([], "stock: no end in 5 s")
    one = evaluate("L", outcome(a=PASSED), late, {})
    assert one.errors == ["L: on stock it ends, on patched: no end in 5 s"]
    rows = [Row.of(both), Row.of(one)]
    Table(jars={}, classes=rows, skipped={"x.Y": "no engine"}).write(tmp_path)
    assert 'failures="2"' in (tmp_path / "junit.xml").read_text()
    page = (tmp_path / "upstream.md").read_text()
    assert "| L | 1 | 1 | no end in 5 s | 1.0 / 0.0 |" in page and "- not run: x.Y: no engine" in page
    assert page.splitlines()[-2].endswith("1 unexplained, 1 not compared")
    assert json.loads((tmp_path / "upstream.json").read_text())["classes"][1]["errors"] == one.errors


def test_names_and_limits() -> None:
    names = ["kafka.cluster.PartitionTest", "kafka.cluster.PartitionLockTest", "x.PartitionTest"]
    assert matching(names, ["PartitionTest"]) == [names[0], names[2]]
    assert matching(names, ["kafka.cluster.*"]) == names[:2]
    assert (SELECTION.limit("slow.A"), SELECTION.limit("quick.A")) == (900, 300)


def jar_classes() -> JarClasses:
    return JarClasses(a.file for a in artifacts("test"))


def test_the_real_jars_and_the_real_list() -> None:
    jars, chosen = jar_classes(), selection(2)
    names = jars.tests
    assert len(names) > 1000
    assert "kafka.api.BaseProducerSendTest" not in names  # a base of others
    assert jars.starts_cluster("kafka.api.PlaintextProducerSendTest")  # says so by what it extends
    assert jars.starts_cluster("org.apache.kafka.tools.TopicCommandTest")  # by an annotation
    assert not jars.starts_cluster("org.apache.kafka.clients.producer.internals.SenderTest")
    for pattern in [*chosen.quick, *chosen.skipped]:
        assert matching(names, [pattern]), f"{pattern} in upstream-tests.toml matches no class"
    for listed in chosen.differs | selection(0).differs:
        assert listed.rpartition(".")[0] in names
    made = batches(names, jars, SELECTION)
    assert sorted(n for b in made for n in b.classes) == names
    assert all(len(b.classes) == 1 for b in made if jars.starts_cluster(b.classes[0]))
    unit = [n for n in names if not jars.starts_cluster(n)][:5]
    slow = Selection((), {"default": 300.0, unit[0]: 900.0}, {}, {})
    assert batches(unit, jars, slow) == [ClassBatch(tuple(unit[1:]), 380.0), ClassBatch((unit[0],), 920.0)]


def broken_copy(target: Path, entry: str, old: bytes, new: bytes) -> Path:
    """The patched distribution with some bytes of one client class changed."""
    home = find("rackspan").home
    (target / "libs").mkdir(parents=True)
    for folder in ("bin", "config"):
        (target / folder).symlink_to(home / folder)
    for jar in (home / "libs").iterdir():
        if jar.name.startswith("kafka-clients-"):
            with zipfile.ZipFile(jar) as a, zipfile.ZipFile(target / "libs" / jar.name, "w") as b:
                for info in a.infolist():
                    data = a.read(info)
                    assert info.filename != entry or old in data
                    b.writestr(info, data.replace(old, new) if info.filename == entry else data)
        else:
            link_or_copy(jar, target / "libs" / jar.name)
    return target


KERBEROS = "org.apache.kafka.common.security.kerberos.KerberosNameTest"
KERBEROS_RULE = "org.apache.kafka.common.security.kerberos.KerberosRuleTest"


@pytest.mark.timeout(1800)
@pytest.mark.variant
def test_a_broken_class_is_named_and_outcomes_are_remembered(home: Path, tmp_path: Path) -> None:
    entry = "org/apache/kafka/common/security/kerberos/KerberosName.class"
    broken = broken_copy(tmp_path / "broken", entry, b"([^/@]*)(/", b"([^/@]*)(:")
    verify = ("verify-stock", "--store", str(tmp_path))
    ran = rackspan(*verify, KERBEROS, "--patched", str(broken), "-o", "json", home=home, seconds=900)
    assert ran.returncode == Exit.FAILED, ran.stderr
    row = json.loads(ran.stdout)["classes"][0]
    assert row["class"] == KERBEROS and row["stock"]["failed"] == 0 and row["stock"]["passed"] == row["stock"]["tests"]
    assert row["patched"]["failed"] > 0
    said = f"{KERBEROS}.testParse(): passes on stock, fails on patched: Malformed Kerberos name: "
    assert any(e.startswith(said) for e in row["errors"]), row["errors"]
    assert row["errors"][0] in ran.stderr and "KerberosNameTest once more: " in ran.stderr
    good = rackspan(*verify, "KerberosNameTest", home=home, seconds=900)
    assert good.returncode == 0 and "0 known difference(s), 0 unexplained" in good.stdout
    again = rackspan(*verify, "KerberosNameTest", home=home, seconds=900)
    assert again.returncode == 0 and again.stdout == good.stdout
    assert "1 of 1" not in again.stderr  # nothing was run
    fresh = rackspan(*verify, "KerberosNameTest", "--fresh", home=home, seconds=900)
    assert fresh.returncode == 0 and "1 of 1" in fresh.stderr
    with locked(tmp_path / "lock", busy="a test"):
        refused = rackspan(*verify, "KerberosNameTest", home=home)
    assert refused.returncode == Exit.FAILED and "upstream's tests run already" in refused.stderr
    carried = rackspan(
        *(*verify, "KerberosNameTest", "KerberosRuleTest", "--carry", str(tmp_path / "upstream.json")),
        *("--jobs", "2", "--out", str(tmp_path / "more")),
        home=home,
        seconds=900,
    )
    assert "1 of 2 classes are known from " in carried.stderr
    assert carried.returncode == 0 and carried.stdout.splitlines()[-1].startswith("2 classes: ")
    assert [r.name for r in Table.read(tmp_path / "more" / "upstream.json").classes] == [KERBEROS, KERBEROS_RULE]


def test_the_name_of_the_machine_is_known_to_the_tests(tmp_path: Path) -> None:
    source = Path(__file__).with_name("MachineName.java")
    code = "import socket, subprocess, sys; from pathlib import Path; from harness.upstream_tests.junit import _names;"
    code += "socket.sethostname('unknown-to-everybody'); options = _names(Path(sys.argv[1], 'hosts'));"
    code += "subprocess.run(['java', *options, sys.argv[2]], check=True)"
    apart = ["unshare", "--user", "--map-root-user", "--uts"]
    if subprocess.run([*apart, "hostname", "x"], capture_output=True, check=False).returncode:
        pytest.skip("a host name of its own needs user namespaces, which this machine refuses")
    done = subprocess.run(
        [*apart, sys.executable, "-c", code, str(tmp_path), str(source)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "unknown-to-everybody/127.0.0.1", done.stderr


def test_only_what_was_well_on_the_same_jars_is_carried_on(tmp_path: Path) -> None:
    rows = [
        Row.of(evaluate(name, outcome(a=PASSED), outcome(a=state), {}))
        for name, state in (("G", PASSED), ("B", FAILED))
    ]
    before = Table(jars={"stock": "1", "patched": "2"}, classes=rows, skipped={})
    before.write(tmp_path)
    again = Table.read(tmp_path / "upstream.json")
    assert again == before
    assert [r.name for r in again.carried({"stock": "1", "patched": "2"}, ["G", "B", "X"])] == ["G"]
    assert again.carried({"stock": "1", "patched": "2"}, ["X"]) == []
    assert again.carried({"stock": "1", "patched": "3"}, ["G"]) == []
    (tmp_path / "upstream.json").write_text('{"jars": {}')
    with pytest.raises(RackspanError, match=r"upstream\.json is no table of upstream's tests") as e:
        Table.read(tmp_path / "upstream.json")
    assert e.value.code == Exit.USAGE


def test_whatever_happens_no_jvm_stays_and_half_an_outcome_is_not_kept(tmp_path: Path) -> None:
    tests = artifacts("test", "junit")
    stock, patched = (
        Variant("stock", find("stock"), tests, tmp_path),
        Variant("patched", find("rackspan"), tests, tmp_path),
    )
    wanted = [ClassBatch((KERBEROS,), 300.0), ClassBatch((KERBEROS_RULE,), 300.0)]
    stock.keep(KERBEROS_RULE, outcome(a=PASSED))
    patched.keep(KERBEROS_RULE, outcome(a=PASSED))
    running = verify(stock, patched, wanted, SELECTION, Progress(), jobs=2)
    assert [v.name for v in next(running)] == [KERBEROS_RULE]  # while the other one's JVMs have just begun
    running.close()
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in p.read_bytes()]
    assert not left and stock.known(KERBEROS) is None and patched.known(KERBEROS) is None


@pytest.mark.variant
def test_a_class_that_cannot_be_loaded_takes_no_other_with_it(tmp_path: Path) -> None:
    tests = artifacts("test", "junit", "kerberos")
    stock, patched = (
        Variant("stock", find("stock"), tests, tmp_path),
        Variant("patched", find("rackspan"), tests, tmp_path),
    )
    connect = "org.apache.kafka.tools.ConnectPluginPathTest"
    batch = ClassBatch((KERBEROS, connect, KERBEROS_RULE), 300.0)
    first, ((last,)) = verify(stock, patched, [batch], SELECTION, Progress())
    assert [(v.name, v.both, v.errors, v.failure) for v in first] == [(n, (), [], "") for n in batch.classes[::2]]
    assert all(v.stock.tests and v.stock.count(PASSED) == len(v.stock.tests) for v in first)
    wanted = "org/apache/kafka/connect/runtime/isolation/TestPlugins$TestPlugin"
    assert last.failure == f"stock: {connect} cannot be loaded: {wanted}" and stock.known(connect) is None


def test_a_file_that_may_not_be_read_is_closed_to_root_too(tmp_path: Path) -> None:
    variant = Variant("stock", find("stock"), artifacts("test", "junit"), tmp_path)
    name = "org.apache.kafka.common.security.oauthbearer.internals.secured.ConfigurationUtilsTest"
    run = JvmRun(variant.path, [name], tmp_path / "run")
    assert run.outcomes(300.0)[name].tests["testFileUnreadable()"] == PASSED


SPOILING = ("SpoilingTest", "SpoiltTest")  # the second one passes only where the first one has not run


def spoiling(name: str, folder: Path) -> Variant:
    """A distribution with upstream's JUnit and the two classes."""
    variant = Variant(name, find(name), artifacts("junit"), folder)
    jar = folder / "spoiling.jar"
    if not jar.exists():
        path = os.pathsep.join(map(str, variant.path))
        sources = [str(Path(__file__).with_name(f"{test}.java")) for test in SPOILING]
        subprocess.run(["javac", "-proc:none", "-cp", path, "-d", str(folder), *sources], check=True)
        with zipfile.ZipFile(jar, "w") as packed:
            for test in SPOILING:
                packed.write(folder / f"{test}.class", f"{test}.class")
    variant.path.insert(0, jar)
    return variant


def test_what_fails_beside_others_counts_as_it_is_alone(tmp_path: Path) -> None:
    stock, patched = (spoiling(name, tmp_path) for name in ("stock", "rackspan"))
    together = ClassBatch(SPOILING, 300.0)
    spoilt = stock.run(list(together.classes), "both").outcomes(300.0)
    assert spoilt["SpoiltTest"].tests == {"needs()": FAILED, "passes()": PASSED}
    ((first, second),) = verify(stock, patched, [together], SELECTION, Progress())
    assert (first.both, second.both, second.errors) == ((), (), [])
    assert second.patched.tests == {"needs()": PASSED, "passes()": PASSED}


class NoJvm:
    """In place of a JVM: every class has a test `a`, which fails."""

    def __init__(self, classes: list[str]) -> None:
        self._classes = classes

    def outcomes(self, seconds: float) -> dict[str, ClassResult]:
        return {name: outcome(a=FAILED) for name in self._classes}

    def end(self) -> None:
        """Nothing runs."""


def test_what_fails_beside_others_on_patched_as_listed_is_not_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, list[str]]] = []

    def run(variant: Variant, classes: list[str], label: str) -> NoJvm:
        ran.append((variant.name, classes))
        return NoJvm(classes)

    monkeypatch.setattr(Variant, "run", run)
    tests = artifacts("test", "junit")
    stock, patched = (Variant(name, find(name), tests, tmp_path) for name in ("stock", "rackspan"))
    listed = Selection((), {"default": 60.0}, {}, {"x.A.a": "why"})
    list(verify(stock, patched, [ClassBatch(("x.A", "x.B"), 60.0)], listed, Progress()))
    both = ["x.A", "x.B"]
    assert ran == [("stock", both), ("rackspan", both), ("stock", ["x.A"]), ("stock", ["x.B"]), ("rackspan", ["x.B"])]


def test_no_such_class(home: Path) -> None:
    ran = rackspan("verify-stock", "NoSuchTest", home=home, seconds=900)
    assert ran.returncode == Exit.USAGE and "test class not found" in ran.stderr


def test_a_class_that_does_not_end_is_cut_off_and_its_jvm_is_gone(tmp_path: Path) -> None:
    variant = Variant("stock", find("stock"), artifacts("test", "junit"), tmp_path)
    run = JvmRun(variant.path, [KERBEROS], tmp_path / "run")
    found = run.outcomes(0.0)
    assert found[KERBEROS].failure == "no end in 0 s"
    assert not Path(f"/proc/{run._process.pid}").exists() and not (tmp_path / "run" / "work").exists()


def test_what_a_jvm_writes_is_bounded_and_of_a_long_log_the_end_is_read(tmp_path: Path) -> None:
    variant = Variant("stock", find("stock"), artifacts("test", "junit"), tmp_path)
    run = JvmRun(variant.path, [KERBEROS], tmp_path / "run")
    limits = Path(f"/proc/{run._process.pid}/limits").read_text()
    run.end()
    assert re.search(r"Max file size +4294967296 ", limits), limits
    with (tmp_path / "run" / "log").open("r+b") as log:
        log.truncate(1 << 26)
        log.seek(0, os.SEEK_END)
        log.write(b"\nlast\n")
    assert len(run._log()) == 1 << 24 and run._log().endswith("\nlast\n")


def test_where_a_class_paused_is_reported(tmp_path: Path) -> None:
    variant = Variant("stock", find("stock"), artifacts("test", "junit"), tmp_path)
    slow = "org.apache.kafka.clients.consumer.StickyAssignorTest"
    run = JvmRun(variant.path, [slow], tmp_path / "run")
    until = time.monotonic() + 60
    while " :: STARTED" not in (tmp_path / "run/log").read_text() and time.monotonic() < until:
        time.sleep(0.1)
    assert run.outcomes(0.0)[slow].failure.startswith("no end in 0 s, last in StickyAssignorTest > ")


def test_known_outcomes_are_not_run_again(tmp_path: Path) -> None:
    tests = artifacts("test", "junit")
    stock, patched = (
        Variant("stock", find("stock"), tests, tmp_path),
        Variant("patched", find("rackspan"), tests, tmp_path),
    )
    assert stock.digest != patched.digest
    stock.keep("x.NoSuchClass", outcome(a=PASSED))
    patched.keep("x.NoSuchClass", outcome(a=FAILED))
    wanted = [ClassBatch(("x.NoSuchClass",), 60.0)]
    listed = Selection((), {"default": 60.0}, {}, {"x.NoSuchClass.a": "why"})
    ((comparison,),) = verify(stock, patched, wanted, listed, Progress())
    assert comparison.known == ("a",) and not comparison.errors


def test_a_jvm_without_a_report_reports_its_last_words(tmp_path: Path) -> None:
    run = JvmRun([tmp_path], ["x.A"], tmp_path / "run")  # no JUnit on this class path
    assert run.outcomes(120.0)["x.A"].failure.startswith("exit code 1 and no report: ")


def test_an_outcome_kept_by_another_version_is_not_known(tmp_path: Path) -> None:
    variant = Variant("stock", find("stock"), artifacts("test", "junit"), tmp_path)
    variant.keep("a.ATest", outcome(one=PASSED))
    assert variant.known("a.ATest") == outcome(one=PASSED)
    file = next(tmp_path.rglob("a.ATest.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "duration": 1.0}))
    assert variant.known("a.ATest") is None
