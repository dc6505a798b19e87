"""A broker's files after a power cut, computed from their names, sizes and the recovery points: pure."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Tail = Literal["none", "torn", "zeros"]

METADATA = "__cluster_metadata-0"
_HEAD = struct.Struct(
    ">qii b i h i"
)  # base offset, length, leader epoch, magic, checksum, attributes, last offset delta
_LENGTH_AT = 12  # the length field counts from behind itself
_INDEXES = (".index", ".timeindex", ".txnindex")


@dataclass(frozen=True)
class Batch:
    """One record batch of a segment: where it is in the file, and its offsets."""

    position: int
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Cut:
    """The loss of one log: every record from `flushed` on, up to before `end`."""

    topic: str
    partition: int
    flushed: int
    end: int


@dataclass(frozen=True)
class Loss:
    """The effect of a power cut on a data folder; paths are relative to it."""

    sizes: tuple[tuple[str, int], ...]  # segments and the size each is left with
    zeroed: tuple[tuple[str, int, int], ...]  # tails whose bytes never reached the disk: path, from, to
    removed: tuple[str, ...]
    cuts: tuple[Cut, ...]


def recovery_points(text: str) -> dict[str, int]:
    """Folder name -> the offset below which all is flushed, from the text of recovery-point-offset-checkpoint."""
    points = {}
    for line in text.splitlines()[2:]:
        topic, partition, offset = line.rsplit(" ", 2)
        points[f"{topic}-{partition}"] = int(offset)
    return points


def batches(data: bytes) -> list[Batch]:
    """The batches of a segment; a last one that is cut short, and zeros, are skipped."""
    found: list[Batch] = []
    at = 0
    while at + _HEAD.size <= len(data):
        first, length, _, _, _, _, delta = _HEAD.unpack_from(data, at)
        if length <= 0 or at + _LENGTH_AT + length > len(data):
            break
        found.append(Batch(at, _LENGTH_AT + length, first, first + delta))
        at += _LENGTH_AT + length
    return found


def loss(
    files: Mapping[str, int],
    points: Mapping[str, int],
    read: Callable[[str], bytes],
    *,
    voter: bool,
    tail: Tail = "none",
) -> Loss:
    """Computes the loss of these files (path -> size) when all that was not flushed is lost.

    `read` gives the bytes of a segment. A log without a recovery point was never flushed. A voter of the metadata
    quorum flushes that log at each append, so it keeps all of it; a mere observer never flushes the segment it is at.
    """
    sizes: list[tuple[str, int]] = []
    zeroed: list[tuple[str, int, int]] = []
    removed: list[str] = []
    cuts: list[Cut] = []
    for folder in sorted({path.partition("/")[0] for path in files if "/" in path}):
        match = re.fullmatch(r"(.+)-(\d+)", folder)
        own = {path: size for path, size in files.items() if path.startswith(f"{folder}/")}
        segments = sorted(path for path in own if path.endswith(".log"))
        if match is None or not segments or (folder == METADATA and voter):
            continue
        point = _offset(segments[-1]) if folder == METADATA else points.get(folder, 0)
        later = [s for s in segments[1:] if _offset(s) >= point]
        at = segments[len(segments) - len(later) - 1]
        gone = [b for s in later for b in batches(read(s))]
        found = batches(read(at))
        lost = [b for b in found if b.first >= point]
        if not lost and not gone:
            continue
        if lost:
            begin = lost[0].position
            rest = lost[0].size // 2 if tail == "torn" else own[at] - begin if tail == "zeros" else 0
            sizes.append((at, begin + rest))
            if tail == "zeros":
                zeroed.append((at, begin, own[at]))
        # Indexes are flushed with their segment only: of this one they have their full size and no content.
        zeroed += [(_base(at) + kind, 0, own[_base(at) + kind]) for kind in _INDEXES if _base(at) + kind in own]
        removed += [path for s in later for path in own if path.startswith(_base(s) + ".")]
        removed += [path for path in own if path.endswith(".snapshot") and _offset(path) > point]
        cuts.append(Cut(match[1], int(match[2]), point, (gone or lost)[-1].last + 1))
    return Loss(tuple(sizes), tuple(zeroed), tuple(dict.fromkeys(removed)), tuple(cuts))


def _base(path: str) -> str:
    return path.rpartition(".")[0]


def _offset(path: str) -> int:
    return int(_base(path).rpartition("/")[2])
