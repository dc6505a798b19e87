"""Selection of blocks: a comparison counts only where the two modes lost about as many blocks to invalidity.

A round in which one mode has no valid block is no pair. If one mode loses more blocks than the other, the pairs that
are left are chosen by how that mode did, and their ratio says nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass

# The numbers of invalid blocks of two modes may be apart by one, or by this share of the blocks that either ran.
APART, SHARE = 1, 0.1


@dataclass(frozen=True)
class Selected:
    """The blocks of a mode in one part: all that ran, invalid ones, the rounds in which the mode saturated the machine
    by itself, which count as the slowest, and those in which it has no block, which are in the two numbers.
    """

    label: str
    ran: int
    invalid: int
    saturated: frozenset[int] = frozenset()
    missing: int = 0


def not_selected(*variants: Selected) -> str:
    """The reason why the blocks of these are not compared; empty if they are comparable."""
    if not variants:
        return ""
    numbers = [v.invalid for v in variants]
    if max(numbers) - min(numbers) > max(APART, int(SHARE * max(v.ran for v in variants))):
        first, *others = (f"{v.invalid} of {v.ran} with {v.label}" for v in variants)
        return ", ".join([first.replace(" with", " blocks invalid with", 1), *others])
    together = frozenset.intersection(*(v.saturated for v in variants)) if len(variants) > 1 else ()
    if together:
        names = " and ".join(v.label for v in variants)
        rounds = f"{len(together)} round" + ("" if len(together) == 1 else "s")
        return f"{names} saturated the machine by themselves in {rounds}"
    return ""
