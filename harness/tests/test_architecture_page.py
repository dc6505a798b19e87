"""The page of the architecture draws the imports that import-linter checks."""

from __future__ import annotations

import tomllib
from itertools import pairwise

from harness.common.paths import project_root


def test_the_picture_has_the_floors_of_the_contract() -> None:
    linter = tomllib.loads((project_root() / "pyproject.toml").read_text())["tool"]["importlinter"]
    floors = next(c["layers"] for c in linter["contracts"] if c["id"] == "floors")
    page = (project_root() / "docs" / "architecture.md").read_text()
    drawn = [line.strip() for line in page.split("## Imports")[1].split("```")[1].splitlines() if "-->" in line]
    assert drawn == [f"{upper} --> {lower}".replace("|", "&") for upper, lower in pairwise(floors)]
