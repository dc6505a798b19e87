"""The tables of a published page follow from the counts beside it: docs/results/counts/PAGE holds those of PAGE.md."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from spark_analysis.recompute import recompute
from spark_analysis.tests.test_kept_counts import KEPT

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PUBLISHED = sorted(RESULTS.glob("counts/*/"))


def differing(counts: Path, results: Path, out: Path) -> list[str]:
    """Lines that the page of the counts and the published one do not share."""
    text = (results / f"{counts.name}.md").read_text(encoding="utf-8")
    found = re.search("^<!-- report -->\n(.*?)^<!-- end -->$", text, re.MULTILINE | re.DOTALL)
    assert found, f"{counts.name}.md has counts and no place for a report"
    made = recompute(counts, out, print).with_name("report.md").read_text(encoding="utf-8")
    again = re.sub("^## ", "### ", made, flags=re.MULTILINE)
    return sorted(set(found[1].splitlines()) ^ set(again.splitlines()))


@pytest.mark.skipif(not PUBLISHED, reason="no published page has its counts in docs/results/counts yet")
def test_each_published_page_is_the_page_of_its_counts(tmp_path: Path) -> None:
    for counts in PUBLISHED:
        again = f"./rackspan report --from-counts {counts.relative_to(ROOT)} --into docs/results/{counts.name}.md"
        assert differing(counts, RESULTS, tmp_path / counts.name) == [], f"write the page again: {again}"


def test_another_figure_in_a_published_page_is_noticed(tmp_path: Path) -> None:
    counts = tmp_path / "counts" / "page"
    shutil.copytree(KEPT / "counts", counts)
    tables = recompute(counts, tmp_path / "out", print).with_name("report.md").read_text()
    tables = re.sub("^## ", "### ", tables, flags=re.MULTILINE)
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n<!-- report -->\n{tables}<!-- end -->\n")
    assert differing(counts, tmp_path, tmp_path / "again") == []
    assert "| P1 | " in tables and " 0.353 | 0.353 to 0.353 |" in tables
    page.write_text(page.read_text().replace(" 0.353 | 0.353 to 0.353 |", " 0.351 | 0.353 to 0.353 |", 1))
    changed = differing(counts, tmp_path, tmp_path / "again")
    assert len(changed) == 2 and all(line.startswith("| P1 | p50") for line in changed)
