"""ducktape, with the tests of one cluster spec as neighbours, so that they share a cluster; its own order is by name.

python -m harness.ducktape_support.ducktape_main ARGUMENTS OF DUCKTAPE
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from ducktape.command_line import main as ducktape
from ducktape.tests import runner
from ducktape.tests.scheduler import TestScheduler

from harness.ducktape_support.reuse import is_last


class BySpec(TestScheduler):  # type: ignore[misc]  # ducktape has no types
    """A scheduler that sorts tests by the cluster that they ask for, those that nobody can share with as the last."""

    def _sort_test_context_list(self) -> None:
        super()._sort_test_context_list()
        self._test_context_list.sort(key=lambda test: turn(test.function, test.cls))


def turn(function: Any, cls: Any) -> tuple[str, bool]:
    """Sort key of a test: the spec that it asks for, and whether it ends the cluster."""
    return requested_spec(function, cls), is_last(function)


def requested_spec(*code: Any) -> str:
    """Source of the first call of `self.spec` in a test's method, else in its class; "" if there is none.

    Tests say in code what they need: a guess from its text that is wrong costs no more than a start of a cluster.
    """
    for part in code:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
        except (OSError, TypeError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "spec":
                return ast.unparse(node)
    return ""


if __name__ == "__main__":
    runner.TestScheduler = BySpec
    ducktape.main()
