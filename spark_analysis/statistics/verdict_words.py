"""The words of all verdicts on a ratio of two modes or on a goal; pages, findings and gates use no others."""

from __future__ import annotations

NOT_SHOWN = "not shown: "  # in front of the reason
# Of a ratio or a goal, where the baseline does not take part twice.
NO_CONTROL = f"{NOT_SHOWN}no control"
# Of P4, where no mode has the same processor time free without a broken follower.
NO_UNAFFECTED = f"{NOT_SHOWN}no control that frees the same processor time"
# Of a ratio or a goal, where both modes left so many records without an answer that there is nothing to compare.
NO_ANSWER = f"{NOT_SHOWN}no answer in either mode"
# Of a ratio.
IMPROVED, REGRESSED, WITHIN_NOISE, NOT_ENOUGH = "improved", "regressed", "within noise", "not enough runs"
# Of a goal; also NOT_ENOUGH.
GOAL_MET, FLOOR_MET, BEYOND = "meets the goal", "meets the floor", "does not meet the floor"
ACROSS = f"{NOT_SHOWN}the interval reaches across the floor"
NOT_HERE = "not measurable here"  # in front of the reason
