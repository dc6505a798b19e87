"""Every mode against the baseline: ratios, verdicts that allow for the noise of the run, and shift functions.

Primary endpoints are those of the run's plan, fixed beforehand: p50 and p99 of the candidate. All others are secondary:
their p-values are adjusted by Holm, and one that does not pass is not called a difference.
"""

from __future__ import annotations

from typing import Any

from spark_analysis.report.benchmark.rounds import BY_ROUND, Rounds, noise_of
from spark_analysis.statistics import label_swap, stats
from spark_analysis.statistics.counts import QUANTILES
from spark_analysis.statistics.verdict_words import IMPROVED, NOT_ENOUGH, REGRESSED, WITHIN_NOISE

PARTS = ("quiet", "fault")
_SHIFT = (100, 250, 500, 750, 900, 950, 990, 995, 999, 999.9)


def noises(measured: Rounds) -> list[dict[str, Any]]:
    """Noise by part and quantile: the factor by which the baseline differed from its control, where there is one."""
    out = []
    for part in PARTS:
        for q in QUANTILES:
            found = measured.ratio(("control", part), ("baseline", part), q)
            factor = noise_of(found)
            if found is not None and factor is not None:
                ends = {"low": found["low"], "high": found["high"]}
                out.append({"part": part, "per_thousand": q, "factor": factor, **ends})
    return out


def stock_again(measured: Rounds) -> dict[int, dict[str, Any] | None]:
    """By quantile the ratio of stock once more to stock, before any fault; None where they do not carry it."""
    return {q: measured.ratio(("stock-control", "quiet"), ("stock", "quiet"), q) for q in (500, 990)}


def noise_at(noise: list[dict[str, Any]], part: str, per_thousand: float) -> float | None:
    """The noise of one quantile of a part; None without a control whose sample carries it.

    In the time of a fault it is the greater of that time's and that of the time before: a fault of a fixed length
    makes waiting for its end the same in each round, however much the machine differs.
    """
    parts = PARTS if part == "fault" else (part,)
    known = {row["part"]: row["factor"] for row in noise if row["per_thousand"] == per_thousand}
    return max(known[p] for p in parts) if all(p in known for p in parts) else None


def compared(
    modes: list[dict[str, Any]], measured: Rounds, noise: list[dict[str, Any]], endpoints: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Ratios of every mode to the baseline, in every part and quantile that the sample carries; those of the
    ``endpoints`` are primary.

    The noise is that of the same part, and in the time of a fault that of the time before, too.
    """
    out = []
    primaries = {(e["mode"], e["part"], e["per_thousand"]) for e in endpoints if e["against"] == "baseline"}
    for part in PARTS:
        for mode in modes:
            for q in QUANTILES:
                found = measured.ratio((mode["role"], part), ("baseline", part), q)
                if mode["role"] != "baseline" and found is not None:
                    primary = (mode["role"], part, q) in primaries
                    place = {"mode": mode["label"], "role": mode["role"], "part": part, "per_thousand": q}
                    factor = 1.0 if mode["role"] == "control" else noise_at(noise, part, q)
                    out.append({**place, **found, "primary": primary, "noise": factor})
    _adjust(out)
    return out


def _adjust(rows: list[dict[str, Any]]) -> None:
    """Verdicts, with p of secondary endpoints adjusted; the control is the noise, not an endpoint."""
    shown = [r for r in rows if not r["not_shown"]]
    family = [r for r in shown if not r["primary"] and r["role"] != "control" and r["p"] is not None]
    adjusted = stats.holm([r["p"] for r in family])
    for row in rows:
        row["p_holm"] = None
        row["verdict"] = row["not_shown"] or stats.verdict(row["low"], row["high"], row["noise"])
    for row, p in zip(family, adjusted, strict=True):
        row["p_holm"] = p
        if p > stats.ALPHA and row["verdict"] in (IMPROVED, REGRESSED):
            # With few rounds no p can be small enough for so many endpoints, whatever the difference.
            least = 2 / 2 ** row["rounds"] if row["method"] == BY_ROUND else label_swap.least_p(row["rounds"])
            row["verdict"] = NOT_ENOUGH if least * len(family) > stats.ALPHA else WITHIN_NOISE


def shifts(modes: list[dict[str, Any]], measured: Rounds) -> list[dict[str, Any]]:
    """Per mode and quantile its difference from the baseline in microseconds, with the interval of swapped labels."""
    out = []
    for part in PARTS:
        base = ("baseline", part)
        for mode in modes:
            variant = (mode["role"], part)
            if variant == base or variant not in measured.histograms or base not in measured.histograms:
                continue
            if measured.off_plan or measured.unbalanced(variant, base):
                continue
            requested = [q for q in _SHIFT if measured.answers(variant, q) and measured.answers(base, q)]
            found = (
                label_swap.shift(measured.histograms[variant], measured.histograms[base], requested)
                if requested
                else None
            )
            for q, apart in zip(requested, found or [], strict=False):
                place = {"mode": mode["label"], "role": mode["role"], "part": part, "per_thousand": q}
                out.append({**place, "shift_us": apart.estimate, "low_us": apart.low, "high_us": apart.high})
    return out
