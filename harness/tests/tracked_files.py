"""The files under version control, for tests that read them all."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from harness.common.paths import project_root

_TEXT = {
    *(".css", ".go", ".gradle", ".j2", ".java", ".js", ".json", ".md", ".patch", ".py", ".sh", ".toml", ".txt"),
    *(".xml", ".yaml", ".yml"),
}
_TEXT_NAMES = {"rackspan", "run", "Dockerfile", "series"}
# Lists of locked or recorded things, and the list itself.
_NOT_PROSE = re.compile(r"(^|/)(package-lock\.json|retired_words\.toml|test_words\.py)$|/tests/data/|/results/counts/")


def tracked(pattern: str = "") -> list[Path]:
    """The files under version control whose path matches, whoever owns the checkout."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    names = subprocess.run(command, cwd=project_root(), check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in names.split("\0") if name and re.search(pattern, name)]


def texts() -> list[Path]:
    return [
        p
        for p in tracked()
        if (p.suffix in _TEXT or p.name in _TEXT_NAMES)
        and not _NOT_PROSE.search(p.as_posix())
        and (project_root() / p).is_file()
    ]
