"""No dead link: each target of a page exists, its heading too, and so does each file of the project that is named."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from harness.common.paths import project_root
from harness.tests.tracked_files import texts, tracked

_ROOMS = r"(?:docs|harness|system_tests|spark_analysis|kafka-patch|campaigns|gradle)"
_NAMED = re.compile(rf"(?<![\w/.-]){_ROOMS}(?:/[\w.-]+)+\.(?:css|gradle|j2|java|json|md|py|svg|toml|txt|yaml|yml)\b")
_FOREIGN = re.compile(r"^[a-z][a-z0-9+.-]*:")  # https:, mailto:
_MADE = re.compile(r"(^|/)(work|build|runs)(/|$)|NAME|VERSION|y_test")  # by a build or a run; stands for a name


def _prose(text: str) -> str:
    """Markdown without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(path: Path) -> set[str]:
    """The fragments of a page's headings, as Git hosts make them."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+?) *$", _prose(path.read_text()), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


def dead_links(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", _prose(text))):
        name, _, fragment = target.partition("#")
        path = (project_root() / page.parent / name if name else project_root() / page).resolve()
        if _FOREIGN.match(target):
            continue
        if not path.exists():
            dead.append(f"{target}: no such file")
        elif fragment and fragment not in anchors(path):
            dead.append(f"{target}: no such heading")
    return dead


@cache
def _known() -> tuple[set[str], set[str]]:
    """All tracked files and their folders, and the bare names of the files."""
    files = tracked()
    return {p.as_posix() for f in files for p in (f, *f.parents)}, {f.name for f in files}


def dead_names(page: Path, text: str) -> list[str]:
    """The code spans of a page that name a file or folder of the project that does not exist. A name may start at any
    folder above the page; with `*` it stands for files of which one exists."""
    paths, names = _known()
    dead = []
    for span in re.findall(r"`([\w.-]+(?:/[\w.*-]+)*/?)`", _prose(text)):
        first, slash, _ = span.partition("/")
        ours = span.endswith(".py") or (slash and any((d / first).as_posix() in paths for d in page.parents))
        found = any((d / span).as_posix() in paths or [*(project_root() / d).glob(span)] for d in page.parents)
        if ours and not found and not _MADE.search(span) and (slash or span not in names):
            dead.append(f"`{span}`: no such file")
    return dead


def _pages() -> list[Path]:
    return tracked(r"\.md$")


@pytest.mark.parametrize("page", _pages(), ids=str)
def test_no_page_leads_nowhere(page: Path) -> None:
    text = (project_root() / page).read_text()
    assert not (dead := dead_links(page, text) + dead_names(page, text)), "\n".join(dead)


def test_every_file_that_a_text_names_exists() -> None:
    known = _known()[0]
    dead = [
        f"{path}: {name}"
        for path in texts()
        if path.name != Path(__file__).name
        for name in _NAMED.findall((project_root() / path).read_text())
        if name not in known and not _MADE.search(name)
    ]
    assert not dead, "\n".join(dead)


def test_every_system_test_is_on_the_page_of_its_folder() -> None:
    folder = Path("system_tests")
    page = (project_root() / folder / "README.md").read_text()
    tests = [p.relative_to(folder).as_posix() for p in tracked(r"^system_tests/.*_test\.py$")]
    assert [t for t in tests if f"`{t}`" not in page] == []


def test_dead_ends_are_found() -> None:
    page = Path("docs/README.md")
    text = "# A\n[x](../README.md#rackspan) [y](../README.md#no) [z](no.md) `harness/no.py` `no.py` `a/b` `wait.py`\n"
    assert dead_links(page, text) == ["../README.md#no: no such heading", "no.md: no such file"]
    assert dead_names(page, text) == ["`harness/no.py`: no such file", "`no.py`: no such file"]
