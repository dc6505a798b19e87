"""The help of the command: verbs, arguments and options of the command tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.testing import CliRunner

from harness.cli import help_format
from harness.cli.app import EXIT_CODES, app
from harness.common.errors import Exit
from harness.common.paths import project_root

runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})

# Verbs that act on one cluster that is there, or start one.
OF_A_CLUSTER = {"up", "status", "logs", "exec", "env", "down", "start", "stop", "kill", "pause", "resume"}
POSITIONAL = {"status", "env", "down"}


def tree(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields every verb below a command, groups included."""
    for name, verb in getattr(command, "commands", {}).items():
        yield (*path, name), verb
        yield from tree(verb, (*path, name))


ROOT = typer.main.get_command(app)
VERBS = dict(tree(ROOT))
LEAVES = {path: verb for path, verb in VERBS.items() if isinstance(verb, TyperCommand)}


def of(verb: Any) -> list[Any]:
    """The arguments and options of a verb, --help among them."""
    return list(verb.get_params(typer.Context(verb, info_name="x")))


def is_sentence(text: str | None) -> bool:
    return bool(text and re.fullmatch(r"[A-Z].*[.]", text, re.DOTALL) and "  " not in text)


@pytest.mark.parametrize("path", [(), *VERBS], ids=lambda path: " ".join(path) or "rackspan")
def test_help_has_full_sentences_metavars_and_defaults(path: tuple[str, ...]) -> None:
    verb = VERBS.get(path, ROOT)
    shown = runner.invoke(app, [*path, "--help"])
    assert shown.exit_code == 0 and "Usage: " in shown.output, (shown.output, shown.exception)
    assert "<" not in re.sub(r"<!-- \w+ -->", "", shown.output), "a Python type where a metavar belongs"
    first = (verb.help or "").split("\n\n")[0].replace("\n", " ")
    assert is_sentence(first), first
    for parameter in of(verb):
        named = f"{parameter.name} of {' '.join(path)}"
        assert is_sentence(parameter.help), f"{named}: {parameter.help}"
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            continue
        assert parameter.metavar, f"{named} has no metavar"
        default = isinstance(parameter.show_default, str) or parameter.default not in (None, "", [], ())
        assert parameter.required or default, f"{named} shows no default"


def test_every_verb_has_a_panel_and_maintainers_have_their_own() -> None:
    assert {path for path, verb in VERBS.items() if not verb.rich_help_panel} == set()
    maintained = {path[0] for path, verb in VERBS.items() if verb.rich_help_panel == help_format.MAINTAINERS}
    assert maintained == {"build", "package", "image", "test", "patch", "verify-stock", "verify-base"}
    shown = runner.invoke(app, ["--help"]).output
    panels = [help_format.CLUSTERS, help_format.NODES, help_format.EXPERIMENTS, help_format.MAINTAINERS]
    places = [shown.index(f" {panel} ") for panel in panels]
    assert places == sorted(places)


def test_every_verb_of_a_cluster_takes_the_option_and_some_the_name_as_argument() -> None:
    taking = {path for path, verb in LEAVES.items() if any("--cluster" in p.opts for p in of(verb))}
    assert taking == {(name,) for name in OF_A_CLUSTER} | {path for path in LEAVES if path[0] == "fault"}
    arguments = {
        path[0] for path, verb in LEAVES.items() for p in of(verb) if isinstance(p, TyperArgument) if p.name == "name"
    }
    assert arguments == POSITIONAL


def test_every_exit_code_is_in_the_help_and_on_the_page_of_commands() -> None:
    codes = {int(code) for code in Exit} | {130}  # interrupted, as shells have it
    assert {int(code) for code in re.findall(r"(\d+) [a-z]", EXIT_CODES)} == codes
    assert EXIT_CODES.split() == runner.invoke(app, ["--help"]).output.split()[-len(EXIT_CODES.split()) :]
    page = (project_root() / "docs" / "reference" / "commands.md").read_text().partition("## Exit codes")[2]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == codes


def test_groups_are_of_the_class_that_shows_no_types() -> None:
    wrong = [path for path, v in VERBS.items() if not isinstance(v, help_format.Command | help_format.Group)]
    assert wrong == [] and isinstance(ROOT, TyperGroup)
