"""Two outcomes of a class side by side: what differs, and whether that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.upstream_tests.junit import FAILED, PASSED, ClassResult


@dataclass(frozen=True)
class ClassComparison:
    """One class on both variants."""

    name: str
    stock: ClassResult
    patched: ClassResult
    broken: tuple[str, ...] = ()  # passed on stock, not on patched, and not listed
    known: tuple[str, ...] = ()  # the same, and listed
    stale: tuple[str, ...] = ()  # listed, and not so
    both: tuple[str, ...] = ()  # failed on both: not the patches' doing
    again: tuple[str, ...] = ()  # passed on patched at the second attempt only

    @property
    def failure(self) -> str:
        """The reason why the class could not be compared; empty if it was."""
        if self.stock.failure:
            return f"stock: {self.stock.failure}"
        return ""

    @property
    def doubtful(self) -> bool:
        """True if a second attempt may have another result: a busy machine breaks tests too."""
        return bool(self.broken or self.stock.failure or self.patched.failure)

    @property
    def errors(self) -> list[str]:
        """The failures, a line each."""
        found = []
        if self.patched.failure and not self.stock.failure:
            found.append(f"{self.name}: on stock it ends, on patched: {self.patched.failure}")
        for test in self.broken:
            why = self.patched.messages.get(test) or "it is not run there"
            found.append(f"{self.name}.{test}: passes on stock, fails on patched: {why}")
        for test in self.stale:
            found.append(f"{self.name}.{test}: is listed as different, and is not: take it off the list")
        return found

    @property
    def note(self) -> str:
        """The note on the row for a reader."""
        parts = [*self.errors]
        parts += [f"{t}: known" for t in self.known]
        parts += [f"{t}: fails on both: {self.stock.messages.get(t, '')[:100]}" for t in self.both]
        parts += [f"{t}: passed at the second attempt" for t in self.again]
        return "; ".join([*parts, self.failure] if self.failure else parts)


def evaluate(
    name: str, stock: ClassResult, patched: ClassResult, differs: Mapping[str, str], again: ClassResult | None = None
) -> ClassComparison:
    """Compares the outcomes of one class; `again` is a second attempt on the patched variant.

    A test is broken when it passes on stock and does not pass on patched. `differs`: `class.test` to reason.
    """
    if stock.failure or patched.failure:
        return ClassComparison(name, stock, patched)
    lost = [t for t, state in stock.tests.items() if state == PASSED and patched.tests.get(t, FAILED) != PASSED]
    listed = {key.removeprefix(f"{name}.") for key in differs if key.startswith(f"{name}.")}
    unlisted = [t for t in lost if t not in listed]
    healed = [t for t in unlisted if again is not None and again.tests.get(t) == PASSED]
    return ClassComparison(
        name,
        stock,
        patched,
        broken=tuple(t for t in unlisted if t not in healed),
        known=tuple(t for t in lost if t in listed),
        stale=tuple(sorted(listed - set(lost))),
        both=tuple(t for t, state in stock.tests.items() if state == FAILED and patched.tests.get(t) == FAILED),
        again=tuple(healed),
    )
