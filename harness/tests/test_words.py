"""Retired words stay out of every tracked text; retired_words.toml says which, and what to write instead."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.common.paths import project_root
from harness.tests.tracked_files import texts, tracked

_LIST = Path(__file__).with_name("retired_words.toml")


@dataclass(frozen=True)
class Word:
    """A retired word as a pattern, with what to write instead."""

    pattern: re.Pattern[str]
    use: str
    not_in: tuple[str, ...]


@cache
def _list() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(_LIST.read_text())


def _bounded(retired: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{retired})(?![a-z])", flags)


@cache
def _words() -> list[Word]:
    found = []
    for entry in _list()["word"]:
        pattern = _bounded(entry["retired"], re.IGNORECASE)
        found.append(Word(pattern, entry["use"], tuple(entry.get("not_in", ()))))
    return found


@cache
def _allowed() -> list[re.Pattern[str]]:
    return [re.compile(entry["text"]) for entry in _list()["allowed"]]


@cache
def _any() -> re.Pattern[str]:
    """One pattern for all, of text in lower case: ten times as fast as one that ignores the case."""
    retired = "|".join(f"(?:{entry['retired']})" for entry in _list()["word"])
    assert not re.search("[A-Z]", retired), "write retired words in lower case"
    return _bounded(retired)


def _as_words(line: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", line).replace("_", " ")


def retired(line: str, suffix: str = ".py") -> list[str]:
    """The retired words of a line, each with what to write instead."""
    if not _any().search(_as_words(line).lower()):
        return []
    for allowed in _allowed():
        line = allowed.sub("", line)
    return [
        f"'{match[0]}': write {word.use}"
        for word in _words()
        if suffix not in word.not_in
        for match in word.pattern.finditer(_as_words(line))
    ]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are ours, numbered from 1; of a patch those that it adds."""
    for number, line in enumerate((project_root() / path).read_text().splitlines(), 1):
        if path.suffix != ".patch" or (line.startswith("+") and not line.startswith("+++ ")):
            yield number, line


def _room(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else "."


@pytest.mark.parametrize("room", sorted({_room(p) for p in texts()}))
def test_no_text_has_a_retired_word(room: str) -> None:
    found = [
        f"{path}:{number}: {word}"
        for path in texts()
        if _room(path) == room
        for number, line in _lines(path)
        for word in retired(line, path.suffix)
    ]
    assert not found, "\n".join(found)


def test_no_file_name_has_a_retired_word() -> None:
    assert [f"{path}: {word}" for path in tracked() for word in retired(path.as_posix())] == []


def test_names_are_read_as_words() -> None:
    assert retired("void toldTwice()", ".java") == ["'told': write reported, recorded, received, sent"]
    assert len(retired("x = judged_by(CREW)")) == 2
    assert retired("client-side cells hold what side effects retell") == []


def test_an_allowance_covers_its_own_text_only() -> None:
    assert retired("@dataclass(frozen=True)") == []
    assert retired("@dataclass(frozen=True)  # the rack is frozen") == ["'frozen': write paused, does not answer"]


def test_every_allowance_has_a_reason_and_is_used() -> None:
    entries = tomllib.loads(_LIST.read_text())["allowed"]
    assert all(entry["reason"] for entry in entries)
    everything = "\n".join((project_root() / path).read_text() for path in texts())
    assert [pattern.pattern for pattern in _allowed() if not pattern.search(everything)] == [], (
        "no text needs these any more: remove them"
    )
