"""Tables in Markdown."""

from __future__ import annotations

from harness.common.markdown import table


def test_a_table_has_a_head_a_ruler_and_a_line_each_row() -> None:
    assert table(["a", "b"], [["x", 1], ["y", 2]], right=[1]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n| y | 2 |"


def test_a_bar_or_a_line_break_does_not_end_a_cell() -> None:
    assert table(["a"], [["x|y\nz"]]) == "| a |\n| --- |\n| x\\|y z |"
