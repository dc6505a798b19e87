"""Records of every mode beside an ideal quorum for the same records: how much later than it they were answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_analysis.report import words
from spark_analysis.report.benchmark.rounds import differences, over_common_rounds, shifted
from spark_analysis.report.promises import waits
from spark_analysis.statistics import counts, label_swap
from spark_analysis.statistics.ideal import AFTER, FROM_SEND, IDEAL
from spark_analysis.statistics.success import MARGIN
from spark_analysis.statistics.verdict_words import NO_ANSWER, NOT_SHOWN

_MEASURES = (IDEAL, FROM_SEND, AFTER)
# The ideal must be known for so many of the records: those without one may be the slowest.
MATCHED = 0.99


def against_oracle(
    known: pa.Table, modes: list[dict[str, Any]], records: Mapping[str, int], saturated: Set[tuple[str, int]]
) -> dict[str, Any]:
    """Per mode: latency from the send, that of the ideal, the difference (the time of the answer after the ideal), and
    that difference beside the baseline's, by round (``apart``, ms). acks=1 waits for no follower: it is skipped.

    ``known`` counts the records whose ideal is known, by role, pair, measure and value; ``records`` are all
    acknowledged ones of each role. An answer before its ideal is an error of the ideal: it is counted, and never moved
    to 0. ``not_shown`` is the verdict where there are more than a few, or where the ideal of too many records is not
    known. ``saturated`` (role, round) saturated the machine and count as the latest.
    """
    after = known.filter(pc.field("measure") == AFTER)
    per_block = counts.quantiles(after, ["role", "pair"])
    pooled = counts.quantiles(known, ["role", "measure"])
    observed = _observed(after)
    waiting = [mode for mode in modes if waits(mode["acks"])]
    rows = [_mode(mode, pooled, observed.get(mode["role"], {}), records.get(mode["role"], 0)) for mode in waiting]
    apart = _apart(rows, _by_round(per_block, saturated), _histograms(counts.bucketed(after), saturated))
    return {"modes": rows, "apart": apart, "not_shown": not_shown(rows)}


def _observed(after: pa.Table) -> dict[str, dict[str, Any]]:
    """By role the records with an ideal (matched), and those answered before it (early), by up to earliest_us."""
    found = {}
    for key, values, times in counts.groups(after, ["role"]):
        early = values < 0
        earliest = float(-values[early].min()) if early.any() else None
        found[key["role"]] = {"matched": int(times.sum()), "early": int(times[early].sum()), "earliest_us": earliest}
    return found


def not_shown(modes: list[dict[str, Any]]) -> str:
    """The verdict where the ideal of the candidate or of the baseline is wrong or not known for too many records."""
    for mode in (m for m in modes if m["role"] in ("candidate", "baseline")):
        if mode["matched"] < MATCHED * mode["records"]:
            known = words.share(mode["matched"], mode["records"])
            return f"{NOT_SHOWN}the ideal is known for {known} of the records of {mode['mode']}"
        if mode["early"] > MARGIN * mode["matched"]:
            return f"{NOT_SHOWN}{early(mode)}"
    return ""


def early(mode: Mapping[str, Any]) -> str:
    """The answers that came before their ideal, as text; empty without any."""
    if not mode["early"]:
        return ""
    by = words.milliseconds(mode["earliest_us"])
    return f"{words.records(mode['early'])} of {mode['mode']} answered before their ideal, by up to {by}"


def _by_round(
    per_block: list[dict[str, Any]], saturated: Set[tuple[str, int]]
) -> dict[tuple[str, float], dict[int, float | None]]:
    """Time after the ideal (µs) by role and quantile, then by round."""
    found: dict[tuple[str, float], dict[int, float | None]] = {}
    for r in per_block:
        late = (r["role"], r["pair"]) in saturated and r["value_us"] is not None
        found.setdefault((r["role"], r["per_thousand"]), {})[r["pair"]] = math.inf if late else r["value_us"]
    return found


def _histograms(after: pa.Table, saturated: Set[tuple[str, int]]) -> dict[str, dict[int, dict[float, int]]]:
    """Records by role, round and time after the ideal (µs)."""
    found: dict[str, dict[int, dict[float, int]]] = {}
    for key, values, times in counts.groups(after, ["role", "pair"]):
        late = (key["role"], key["pair"]) in saturated
        of_round = {math.inf: int(times.sum())} if late else dict(zip(values.tolist(), map(int, times), strict=True))
        found.setdefault(key["role"], {})[key["pair"]] = of_round
    return found


def _apart(
    modes: list[dict[str, Any]],
    by_round: Mapping[tuple[str, float], Mapping[int, float | None]],
    histograms: Mapping[str, label_swap.Histogram],
) -> list[dict[str, Any]]:
    """Of every mode but the baseline how much more its time after the ideal is than the baseline's (ms): by round, or
    where a block does not carry the quantile, of all rounds pooled.
    """
    values = {m["role"]: {row["per_thousand"]: row["after_us"] for row in m["quantiles"]} for m in modes}
    out = []
    for mode in (m for m in modes if m["role"] != "baseline"):
        for q in counts.QUANTILES:
            pooled = [values.get(role, {}).get(q) for role in (mode["role"], "baseline")]
            if pooled[0] is None or pooled[1] is None:
                continue
            mine, others = (by_round[role, q] for role in (mode["role"], "baseline"))
            both = [(mine[r], others[r]) for r in sorted(set(mine) & set(others))]
            known = [(a - b) / 1000 for a, b in both if a is not None and b is not None and not a == b == math.inf]
            if all(a is not None and b is not None for a, b in both):
                row = differences(known, NO_ANSWER if len(known) < len(both) else "")
            else:
                row = _pooled_apart(histograms[mode["role"]], histograms["baseline"], q, pooled)
            if row is not None:
                out.append({"role": mode["role"], "mode": mode["mode"], "per_thousand": q, **row})
    return out


def _pooled_apart(
    mine: label_swap.Histogram, others: label_swap.Histogram, per_thousand: float, known: Sequence[float | None]
) -> dict[str, Any] | None:
    """The row of the difference over the rounds that both have; None where they do not carry the quantile."""
    a, b = over_common_rounds(mine, others, per_thousand, known)
    if a is None or b is None:
        return None
    return shifted(mine, others, per_thousand, 0.0 if a == b else a - b)


def _mode(
    mode: dict[str, Any], pooled: list[dict[str, Any]], observed: Mapping[str, Any], records: int
) -> dict[str, Any]:
    values = {(r["measure"], r["per_thousand"]): r["value_us"] for r in pooled if r["role"] == mode["role"]}
    return {
        "mode": mode["label"],
        "role": mode["role"],
        "records": records,
        "matched": observed.get("matched", 0),
        "early": observed.get("early", 0),
        "earliest_us": observed.get("earliest_us"),
        "quantiles": [
            {"per_thousand": q, **{measure: values.get((measure, q)) for measure in _MEASURES}}
            for q in counts.QUANTILES
        ],
    }
