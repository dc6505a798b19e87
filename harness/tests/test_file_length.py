"""No file of code is longer than can be read at once."""

from __future__ import annotations

from harness.common.paths import project_root
from harness.tests.tracked_files import tracked

LINES = 400


def test_no_file_of_code_is_longer_than_400_lines() -> None:
    files = tracked(r"\.(py|java)$")
    assert len(files) > 400, "the list of files is wrong"
    counts = {file: len((project_root() / file).read_text(encoding="utf-8").splitlines()) for file in files}
    assert {str(file): lines for file, lines in counts.items() if lines > LINES} == {}
