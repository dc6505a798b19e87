"""Columns of rows that travel between tasks: NumPy arrays, small integers in the place of names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Piece:
    """Rows of one table, of one node where `node` says so.

    A column that has one value only is kept as that value. `names` is what the codes of a column of names stand for.
    """

    table: str
    rows: int
    columns: dict[str, Any]
    names: dict[str, list[str]]
    node: str = ""

    def column(self, name: str) -> Array:
        """A column with a value for each row."""
        value = self.columns[name]
        return value if isinstance(value, np.ndarray) else np.full(self.rows, value)


def piece(
    table: str, columns: dict[str, Array], names: dict[str, list[str]], at: Array | slice | None = None, node: str = ""
) -> Piece:
    """The rows `at` of these columns."""
    chosen = {name: column if at is None else column[at] for name, column in columns.items()}
    rows = len(next(iter(chosen.values())))
    return Piece(table, rows, {name: _packed(column) for name, column in chosen.items()}, names, node)


def _packed(column: Array) -> Any:
    if len(column) > 1 and column[0] == column[-1] and bool((column == column[0]).all()):
        return column[0]
    return np.ascontiguousarray(column)


@dataclass(frozen=True)
class Rows:
    """Rows of several pieces as one, with one list of names for each column of names."""

    size: int
    columns: dict[str, Array]
    names: dict[str, list[str]]

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def only(self, at: Array) -> Rows:
        """Some of the rows: those of a mask or of a list of positions."""
        chosen = {name: column[at] for name, column in self.columns.items()}
        return Rows(int(at.sum()) if at.dtype == bool else len(at), chosen, self.names)

    def changed(self, **columns: Array) -> Rows:
        """The same rows with other columns."""
        return Rows(self.size, self.columns | columns, self.names)


def rows(pieces: Sequence[Piece], types: dict[str, str], names: dict[str, Names]) -> Rows:
    """All rows of these pieces; the codes of a column in `names` become those of that list."""
    columns = {}
    for name, type_ in types.items():
        parts = []
        for one in pieces:
            value = one.column(name)
            if name in names:
                value = names[name].codes(one.names[name])[value]
            parts.append(value.astype(type_, copy=False))
        columns[name] = np.concatenate(parts) if parts else np.empty(0, type_)
    return Rows(sum(one.rows for one in pieces), columns, {name: known.all for name, known in names.items()})


class Names:
    """Names and their codes; a name that is not known yet gets the next one."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.all: list[str] = []
        self._of: dict[str, int] = {}
        self.codes(list(known))

    def codes(self, names: Sequence[str]) -> Array:
        """The codes of these names."""
        return np.array([self._code(name) for name in names], np.int32)

    def _code(self, name: str) -> int:
        code = self._of.setdefault(name, len(self._of))
        if code == len(self.all):
            self.all.append(name)
        return code


def among(codes: Array, names: Sequence[str], wanted: Container[str]) -> Array:
    """True for the codes of the names that are wanted."""
    return np.array([name in wanted for name in names] or [False], bool)[codes]


def groups(*keys: Array) -> tuple[Array, Array]:
    """An order of rows by these keys, the first one first, and where in that order each new combination begins."""
    order = np.lexsort(keys[::-1])
    fresh = np.zeros(len(order), bool)
    fresh[:1] = True
    for key in keys:
        ordered = key[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(fresh)


def before(values: Array, first: int) -> Array:
    """The largest of the values before each one, or `first`."""
    highest = np.empty(len(values), np.int64)
    highest[:1] = first
    highest[1:] = np.maximum(np.maximum.accumulate(values)[:-1], first)
    return highest


def behind(values: Array, last: int) -> Array:
    """The smallest of the values behind each one, or `last`."""
    return -before(-values[::-1], -last)[::-1]
