"""Patch files and their order: pure parsing, no git."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kpatch.errors import KpatchError

TRAILERS = ("Proposal", "Origin", "Forwarded")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_INDEX = re.compile(r"^index ([0-9a-f]{40})\.\.([0-9a-f]{40})(?: \d+)?$")


@dataclass(frozen=True)
class FilePatch:
    """The change of one upstream file."""

    path: str
    old_blob: str
    new_blob: str
    added: int
    removed: int
    context: int


@dataclass(frozen=True)
class Patch:
    """One patch: its mail header and its file changes."""

    name: str
    subject: str
    body: str
    files: tuple[FilePatch, ...]

    @property
    def trailers(self) -> dict[str, str]:
        """`Key: value` lines of the body's last paragraph."""
        last = self.body.strip().split("\n\n")[-1]
        pairs = (line.split(":", 1) for line in last.splitlines() if re.match(r"^[A-Z][A-Za-z-]*: ", line))
        return {k: v.strip() for k, v in pairs}


def slug(subject: str) -> str:
    """File name of a patch: its subject in lower case, words joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-") + ".patch"


def read_series(folder: Path) -> list[str]:
    """Names in `series`; every name must exist and every patch must be named."""
    file = folder / "series"
    if not file.is_file():
        raise KpatchError("no patch series", f"{folder.name}/series is missing", "Run: gradle rebuildPatches")
    names = [line.strip() for line in file.read_text().splitlines() if line.strip() and not line.startswith("#")]
    present = {p.name for p in folder.glob("*.patch")}
    for name in names:
        if name not in present:
            raise KpatchError("series names a missing patch", name, "Add the file or take the line out of series")
    if extra := sorted(present - set(names)):
        raise KpatchError("patch is not in series", ", ".join(extra), "Name it in series or delete the file")
    return names


def parse(name: str, text: str) -> Patch:
    """Parses one patch in `git format-patch` form; raises KpatchError where it is not one."""
    head, sep, rest = text.partition("\ndiff --git ")
    if not sep:
        raise KpatchError(f"{name} is not a patch", "no line starts with 'diff --git'", "Run: gradle rebuildPatches")
    subject, body = _header(name, head)
    files = tuple(_file(name, chunk) for chunk in re.split(r"^diff --git ", rest, flags=re.MULTILINE))
    return Patch(name, subject, body, files)


def _header(name: str, head: str) -> tuple[str, str]:
    lines = head.splitlines()
    if not lines or not lines[0].startswith("From "):
        raise KpatchError(f"{name} has no header", f"first line is {lines[0] if lines else ''!r}", _HEADER_HELP)
    blank = lines.index("") if "" in lines else len(lines)
    subject = re.search(r"^Subject: (.*(?:\n .*)*)", "\n".join(lines[:blank]), flags=re.MULTILINE)
    if not subject:
        raise KpatchError(f"{name} has no header", "there is no Subject line", _HEADER_HELP)
    body = "\n".join(lines[blank + 1 :])
    return subject.group(1).replace("\n ", " "), re.sub(r"\n---\s*\Z", "\n", body + "\n")


_HEADER_HELP = "Commit it in the work tree with a subject, a reason and trailers, then run: gradle rebuildPatches"


def _file(name: str, chunk: str) -> FilePatch:
    lines = chunk.splitlines()
    path = lines[0].split(" b/", 1)[1]
    blobs = next((m for m in map(_INDEX.match, lines) if m), None)
    if not blobs:
        raise KpatchError(f"{name} lacks full blob ids", f"at {path}", "Run: gradle rebuildPatches")
    added = removed = context = 0
    old_left = new_left = 0
    for line in lines[1:]:
        if old_left <= 0 and new_left <= 0:
            if hunk := _HUNK.match(line):
                old_left, new_left = int(hunk.group(2) or 1), int(hunk.group(4) or 1)
            continue
        if line.startswith("-"):
            removed, old_left = removed + 1, old_left - 1
        elif line.startswith("+"):
            added, new_left = added + 1, new_left - 1
        elif not line.startswith("\\"):
            context, old_left, new_left = context + 1, old_left - 1, new_left - 1
    return FilePatch(path, blobs.group(1), blobs.group(2), added, removed, context)
