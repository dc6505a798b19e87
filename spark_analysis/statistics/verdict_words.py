"""The words of all verdicts on a ratio of two modes or on a goal; pages, findings and gates use no others."""

from __future__ import annotations

# Of a ratio or a goal, where the baseline does not take part twice.
NO_CONTROL = "not shown: no control"
# Of a ratio.
IMPROVED, REGRESSED, WITHIN_NOISE, NOT_ENOUGH = "improved", "regressed", "within noise", "not enough runs"
# Of a goal; also NOT_ENOUGH.
GOAL_MET, FLOOR_MET, BEYOND = "meets the goal", "meets the floor", "does not meet the floor"
ACROSS = "not shown: the interval reaches across the floor"
NOT_HERE = "not measurable here"  # in front of the reason
