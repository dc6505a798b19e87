"""The tables of a published page follow from the counts beside it: docs/results/counts/PAGE holds those of PAGE.md."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from spark_analysis.input import kept_counts
from spark_analysis.recompute import built
from spark_analysis.report.markdown import summary
from spark_analysis.tests.test_kept_counts import KEPT

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PUBLISHED = sorted(RESULTS.glob("counts/*/"))


def tables(counts: Path) -> str:
    """The tables of the page that the counts make, as a page with a title of its own has them."""
    return re.sub("^## ", "### ", summary(built(kept_counts.read(counts), print)), flags=re.MULTILINE)


def differing(counts: Path, results: Path) -> list[str]:
    """Lines that the page of the counts and the published one do not share."""
    text = (results / f"{counts.name}.md").read_text(encoding="utf-8")
    found = re.search("^<!-- report -->\n(.*?)^<!-- end -->$", text, re.MULTILINE | re.DOTALL)
    assert found, f"{counts.name}.md has counts and no place for a report"
    return sorted(set(found[1].splitlines()) ^ set(tables(counts).splitlines()))


@pytest.mark.skipif(not PUBLISHED, reason="no published page has its counts in docs/results/counts yet")
def test_each_published_page_is_the_page_of_its_counts() -> None:
    for counts in PUBLISHED:
        again = f"./rackspan report --from-counts {counts.relative_to(ROOT)} --into docs/results/{counts.name}.md"
        assert differing(counts, RESULTS) == [], f"write the page again: {again}"


def test_another_figure_in_a_published_page_is_noticed(tmp_path: Path) -> None:
    counts = tmp_path / "counts" / "page"
    shutil.copytree(KEPT / "counts", counts)
    shown = tables(counts)
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n<!-- report -->\n{shown}<!-- end -->\n")
    assert differing(counts, tmp_path) == []
    assert "| P1 | " in shown and " 0.353 | 0.353 to 0.353 |" in shown
    page.write_text(page.read_text().replace(" 0.353 | 0.353 to 0.353 |", " 0.351 | 0.353 to 0.353 |", 1))
    changed = differing(counts, tmp_path)
    assert len(changed) == 2 and all(line.startswith("| P1 | p50") for line in changed)
