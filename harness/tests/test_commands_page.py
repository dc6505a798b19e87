"""The page of commands lists every verb of the command, and no other."""

from __future__ import annotations

import re

import typer.main

from harness.cli.app import app
from harness.common.paths import project_root

_GROUPED = {"patch"}  # described by its folder's page, as one line


def _verbs() -> set[str]:
    found = set()
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = {} if name in _GROUPED else getattr(command, "commands", {})
        found |= {f"{name} {verb}" for verb in inner} or {name}
    return found


def test_every_verb_is_on_the_page() -> None:
    page = (project_root() / "docs" / "reference" / "commands.md").read_text()
    listed = {
        span.removeprefix("rackspan ")
        for line in page.splitlines()
        if line.startswith("| `rackspan ")
        for span in re.findall(r"`(rackspan [a-z -]+)`", line.split(" | ")[0])
    }
    assert listed == _verbs()
