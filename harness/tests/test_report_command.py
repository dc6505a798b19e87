"""`rackspan report --gate`: gates pass through to the analysis; its outcomes and errors come back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import report
from harness.cli.app import app
from harness.common.errors import Exit, RackspanError
from harness.common.progress import Progress
from harness.common.subprocesses import Finished

MISSED = ("[  0.1 s] done", "1 of 2 gates missed", "  observed: kept", "  do:       see the page")


def answering(monkeypatch: pytest.MonkeyPatch, code: int, printed: str, reported: tuple[str, ...]) -> list[list[str]]:
    """Puts an analysis that answers so in the place of the real one; returns the commands that it is given."""
    commands: list[list[str]] = []

    def run(command: list[str], *others: Any) -> Finished:
        commands.append(command)
        return Finished(code, printed, reported)

    monkeypatch.setattr(report, "run", run)
    monkeypatch.setattr(report, "check_gates", lambda gate: None)
    return commands


def test_missed_gates_fail_the_command_after_all_outcomes_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, gate = tmp_path / "report.html", tmp_path / "gates.yaml"
    (tmp_path / "report.md").write_text("## tables\n")
    (tmp_path / "counts").mkdir()
    (tmp_path / "counts/counts.json").write_text("{}")
    document = tmp_path / "page.md"
    document.write_text("<!-- report -->\n<!-- end -->\n")
    commands = answering(monkeypatch, 1, f"✗ kept (outage): 1 lost\n✓ goal (quiet): 0.2\n{page}\n", MISSED)
    done = CliRunner().invoke(app, ["report", str(tmp_path), "--gate", str(gate), "--into", str(document)])
    assert commands[0][-2:] == ["--gate", str(gate)]
    assert isinstance(done.exception, RackspanError) and done.exception.code == Exit.FAILED
    assert (done.exception.what, done.exception.observed, done.exception.do) == (
        "1 of 2 gates missed",
        "kept",
        "see the page",
    )
    assert done.stdout.splitlines()[:2] == ["✗ kept (outage): 1 lost", "✓ goal (quiet): 0.2"]
    assert str(page) in done.stdout and "### tables" in document.read_text()
    assert (tmp_path / "counts/page/counts.json").read_text() == "{}", "the counts are beside the document"


def test_met_gates_are_printed_above_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "report.html"
    answering(monkeypatch, 0, f"✓ goal (quiet): 0.2\n{page}\n", ())
    done = CliRunner().invoke(app, ["report", str(tmp_path), "--gate", "gates.yaml"])
    assert done.exit_code == 0 and done.stdout.splitlines()[0] == "✓ goal (quiet): 0.2" and str(page) in done.stdout


def test_a_report_that_was_not_made_is_no_missed_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, 1, "", ("no report made", "  observed: none of 1 folder could be read", "  do:       see"))
    with pytest.raises(RackspanError, match="the analysis failed"):
        report.analyse([tmp_path], tmp_path / "out", Progress(), tmp_path / "gates.yaml")


SKIPPED = ("1 folder skipped", "  observed: x is cut short", "  do:       see the page")


def test_a_skipped_folder_fails_the_command_with_the_code_of_the_analysis_after_the_page_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in (Exit.FAILED, Exit.ENVIRONMENT):
        answering(monkeypatch, code, f"{tmp_path}/report.html\n", SKIPPED)
        done = CliRunner().invoke(app, ["report", str(tmp_path)])
        assert isinstance(done.exception, RackspanError) and done.exception.code == code
        assert done.exception.what == "1 folder skipped" and f"{tmp_path}/report.html" in done.stdout
        answering(monkeypatch, code, "", SKIPPED)
        with pytest.raises(RackspanError, match="the analysis failed") as caught:
            report.analyse([tmp_path], tmp_path / "out", Progress())
        assert caught.value.code == code, "no page was made"


def test_a_bad_file_of_gates_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The analysis refuses it; no system package is installed and no report begun."""
    for name in ("install", "analyse"):
        monkeypatch.setattr(report, name, lambda *others, name=name: pytest.fail(f"{name} was called"))
    path = tmp_path / "gates.yaml"
    path.write_text("gates:\n- {name: kept, of: lost, at_mots: 0}\n")
    error = CliRunner().invoke(app, ["report", str(tmp_path), "--gate", str(path)]).exception
    assert isinstance(error, RackspanError) and (error.code, error.what) == (Exit.USAGE, f"{path} is not valid")
    assert error.observed.startswith("gates.0: no key 'at_mots'; did you mean 'at_most'?")
    assert error.do.startswith("correct the keys named above; ")


NEWER = ("the counts in x are of a newer version", "  observed: version 2", "  do:       use Rackspan 9.1")


def test_a_page_is_computed_again_from_counts_without_a_system_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "report.html"
    monkeypatch.setattr(report, "install", lambda *others: pytest.fail("a JDK was installed"))
    commands = answering(monkeypatch, 0, f"{page}\n", ("[  0.1 s] computing run",))
    done = CliRunner().invoke(app, ["report", "--from-counts", str(tmp_path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0 and str(page) in done.stdout
    assert commands == [
        [sys.executable, "-m", "spark_analysis", "recompute", str(tmp_path), "--out", str(tmp_path / "out")]
    ]


def test_counts_that_cannot_be_read_give_the_error_and_the_code_of_the_analysis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, 4, "", NEWER)
    error = CliRunner().invoke(app, ["report", "--from-counts", str(tmp_path)]).exception
    assert isinstance(error, RackspanError) and error.code == Exit.ENVIRONMENT
    assert (error.what, error.observed, error.do) == (NEWER[0], "version 2", "use Rackspan 9.1")


def test_run_folders_and_counts_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "run", lambda *others: pytest.fail("the analysis was started"))
    error = CliRunner().invoke(app, ["report", str(tmp_path), "--from-counts", str(tmp_path)]).exception
    assert isinstance(error, RackspanError) and error.code == Exit.USAGE
    assert error.observed == f"1 run folder(s) and --from-counts {tmp_path}"
