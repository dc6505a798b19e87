"""Promises that were really tried, and those that were not: a rule that could evaluate nothing has shown nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from spark_analysis.checker.anomalies import KINDS
from spark_analysis.checker.facts import Settings

# The kinds of one rule are named by the first.
_SAME_RULE = {"lost-without-election": "lost-to-election", "lost-by-minimal-isr": "lost-to-election"}
RULES = tuple(kind.name for kind in KINDS if kind.name not in _SAME_RULE)


def promised(settings: Collection[Settings], requires: Mapping[str, bool]) -> tuple[str, ...]:
    """The rules that a run has to try, by the settings of its producers: all but those of promises nobody requested.

    `requires`: for rules on in-sync replicas and on transactions, whether the run has a case of them.
    """
    absent = {rule for rule, required in requires.items() if not required}
    absent |= set() if any(one.quorum for one in settings) else {"lost-to-election"}
    absent |= set() if any(one.final for one in settings) else {"aborted-write"}
    absent |= set() if any(not one.quorum for one in settings) or not settings else {"lost-write"}
    return tuple(rule for rule in RULES if rule not in absent)


def untried(exposure: Mapping[str, int], rules: tuple[str, ...]) -> list[str]:
    """The rules that nothing tried."""
    return [rule for rule in rules if not exposure.get(rule)]
