"""The goals that a benchmark run measures: the table of goals from the run's own numbers."""

from __future__ import annotations

import re
from typing import Any

from spark_analysis.report import words
from spark_analysis.report.benchmark.comparison import noise_at
from spark_analysis.report.benchmark.goals import GOALS, NOT_MEASURED, PROCESSOR_TIME, evaluated, of_the_ideal
from spark_analysis.report.benchmark.rounds import Rounds, noise_of, worst
from spark_analysis.report.promises import EARLY, STOCK, has_set
from spark_analysis.statistics import stats
from spark_analysis.statistics.verdict_words import NO_UNAFFECTED, NOT_ENOUGH

QUIET, FAULT = "quiet", "fault"
_NEAR = (1.6, 2.6)
_FAR = (16.0, 24.0)


def goals(data: dict[str, Any], measured: Rounds) -> list[dict[str, Any]]:
    """Rows of the goals that this kind of workload is about. All but P7 compare with acks=all."""
    fault = data["workload"]["fault"]
    of = {mode["role"]: mode for mode in data["modes"]}
    if "baseline" in of and of["baseline"].get("acks") in EARLY:
        other = fault or data.get("knee") or data["workload"].get("stalls") or data.get("end_to_end")
        beside = has_set(of.get("candidate", {})) and not has_set(of["baseline"])
        return _level_2(data, measured) if beside and not other else []
    if data.get("knee"):
        return _throughput(data)
    if data["workload"].get("stalls"):
        stalled = measured.ratio(("candidate", QUIET), ("baseline", QUIET), 999)
        noise = noise_at(data["noise"], QUIET, 999)
        return [evaluated(GOALS["P6", 999], stalled, noise, note="" if stalled else _TOO_FEW)]
    if data.get("end_to_end"):
        ratios = {(r["role"], r["per_thousand"]): r for r in data["end_to_end"]["ratios"]}
        found = {q: (ratios.get(("candidate", q)), noise_at(data["end_to_end"]["noise"], QUIET, q)) for q in (500, 990)}
        return [evaluated(GOALS["P8", q], *found[q], note=_NO_GAIN) for q in (500, 990)]
    if fault is None:
        new = next(m for m in data["modes"] if m["role"] == "candidate")
        early = new["acks"] in EARLY
        return [*_stock(data, measured), *([*_distances(data, measured), *_ideal(data, measured)] if early else [])]
    return _paused(data, measured) if fault["how"] == "pause" else _killed(data, of)


def _level_2(data: dict[str, Any], measured: Rounds) -> list[dict[str, Any]]:
    """The electable set beside an answer by whoever is first: both with acks=min.insync.replicas."""
    variants = ("candidate", QUIET), ("baseline", QUIET)
    noise = {q: noise_at(data["noise"], QUIET, q) for q in (500, 990)}
    return [evaluated(GOALS["P7", q], measured.ratio(*variants, q), noise[q]) for q in (500, 990)]


def _throughput(data: dict[str, Any]) -> list[dict[str, Any]]:
    if not any(m["role"] == "stock" for m in data["modes"]):
        return []
    short = [row["mode"] for row in data["knee"]["capacity"] if row["ended"] < row["rounds"]]
    note = f"{', '.join(short)} did not reach its knee at the highest rate" if short else ""
    noise = _noise(data, noise_of(data["knee"]["ratios"].get("control")), data["knee"]["stock_again"])
    return [against_stock("throughput", data["knee"]["over_stock"], noise, note), *_processor_time(data)]


_TOO_FEW = "p99.9 needs 100,000 records of either mode"
_NO_GAIN = "a consumer receives a record when all in-sync replicas have it: no gain is expected"


def _stock(data: dict[str, Any], measured: Rounds) -> list[dict[str, Any]]:
    if not any(m["role"] == "stock" for m in data["modes"]):
        return []
    variants = ("baseline", QUIET), ("stock", QUIET)
    noise = {q: _noise(data, noise_at(data["noise"], QUIET, q), data["stock_again"][q]) for q in (500, 990)}
    latencies = [against_stock(q, measured.ratio(*variants, q), noise[q]) for q in (500, 990)]
    return [*latencies, *_processor_time(data)]


def _processor_time(data: dict[str, Any]) -> list[dict[str, Any]]:
    found = data.get("processor_time")
    if not found:
        return []
    noise = _noise(data, noise_of(found["again"]), found["stock_again"])
    seconds = {row["role"]: words.short(row["seconds"]) for row in found["modes"]}
    note = f"{seconds.get('baseline', '-')} s per million records, stock {seconds.get('stock', '-')} s"
    return [against_stock(PROCESSOR_TIME, found["over_stock"], noise, note)]


def _noise(data: dict[str, Any], patched: float | None, stock: dict[str, Any] | None) -> float | None:
    """The greater of what both distributions differ from themselves by, where stock has a control; None where a control
    has no result.
    """
    return worst([patched, noise_of(stock)] if has_stock_control(data["modes"]) else [patched])


def has_stock_control(modes: list[dict[str, Any]]) -> bool:
    """True where stock is measured once more."""
    return any(m["role"] == "stock-control" for m in modes)


def against_stock(of: int | str, found: dict[str, Any] | None, noise: float | None, note: str = "") -> dict[str, Any]:
    """The row of a part of P0. Nothing is shown where acks=all differs from its control by more than the floor."""
    goal = GOALS["P0", of]
    margin = 1 / goal.floor if goal.at_least else goal.floor
    row = evaluated(goal, found, noise, note="; ".join(filter(None, [note, _no_regression(found, margin, noise)])))
    if noise is not None and noise > margin and row["verdict"] != NOT_ENOUGH and not row["not_shown"]:
        row["verdict"] = f"not shown: acks=all differs from itself by a factor of {noise:.2f}, more than the floor"
    return row


def _no_regression(found: dict[str, Any] | None, margin: float, noise: float | None) -> str:
    """The result of two one-sided tests against the floor, to which the noise comes nearer; empty without a ratio of
    every round or without a control.
    """
    if found is None or noise is None:
        return ""
    inside = margin / noise
    equal = stats.equivalence(found["by_round"], inside) if inside > 1 else None
    if equal is None:
        return "" if inside > 1 else f"equal within a factor of {margin:.4g}: not shown, the noise is as large"
    return f"equal within a factor of {margin:.4g}: {'shown' if equal.shown else 'not shown'}, p = {equal.p:.2g}"


def _distances(data: dict[str, Any], measured: Rounds) -> list[dict[str, Any]]:
    new, old, least = ("candidate", QUIET), ("baseline", QUIET), ("least", QUIET)
    distances = sorted(data["rtt_ms"].values())
    found = {q: measured.ratio(new, old, q) for q in (500, 990)}
    noise = {q: noise_at(data["noise"], QUIET, q) for q in (500, 990)}
    equal = bool(distances) and all(_NEAR[0] <= d <= _NEAR[1] for d in distances)
    unequal = bool(distances) and _NEAR[0] <= distances[0] <= _NEAR[1] and _FAR[0] <= distances[-1] <= _FAR[1]
    if unequal:
        share = measured.share_removed(new, old, least, 500)
        again = measured.share_removed(("control", QUIET), old, least, 500)
        rows = [evaluated(GOALS["P2", q], found[q], noise[q]) for q in (500, 990)]
        return [*rows, evaluated(GOALS["P2", "share"], share, _apart(again))]
    why = "" if equal else "the racks are not 2 ms apart"
    return [evaluated(GOALS["P1", q], found[q], noise[q], why_not=why) for q in (500, 990)]


def _apart(again: dict[str, Any] | None) -> float | None:
    """The distance of the baseline from itself when it is measured once more, by the farther end of the interval."""
    if again is None or again["low"] is None or again["not_shown"]:
        return None
    return float(max(abs(again["low"]), abs(again["high"])))


def _ideal(data: dict[str, Any], measured: Rounds) -> list[dict[str, Any]]:
    """The time of the candidate's answers after their ideal, less the same of acks=all: both have the way back of the
    answer, which no log has.
    """
    modes = {m["role"]: m for m in data["oracle"]["modes"]} if data["oracle"] else {}
    new, old = (modes.get(role) for role in ("candidate", "baseline"))
    if new is None or old is None:
        why = "the fetches of the followers were not logged" if not modes else "the candidate waits for no follower"
        return [evaluated(GOALS["P3", q], None, None, why_not=why) for q in (500, 990)]
    not_shown = (
        measured.beside_ideal(("candidate", QUIET))
        or measured.not_shown(("candidate", QUIET), ("baseline", QUIET))
        or data["oracle"]["not_shown"]
    )
    return [_after_the_ideal(q, data["oracle"], new, old, not_shown) for q in (500, 990)]


def _after_the_ideal(
    q: int, found: dict[str, Any], new: dict[str, Any], old: dict[str, Any], not_shown: str
) -> dict[str, Any]:
    mine, others = (next(row for row in mode["quantiles"] if row["per_thousand"] == q) for mode in (new, old))
    if mine["ideal_us"] is None:
        return evaluated(GOALS["P3", q], {**NOT_MEASURED, "not_shown": not_shown}, None)
    by_role = {row["role"]: row for row in found["apart"] if row["per_thousand"] == q}
    apart, again = by_role.get("candidate", NOT_MEASURED), by_role.get("control")
    ideal, after, of_all = (words.milliseconds(us) for us in (mine["ideal_us"], mine["after_us"], others["after_us"]))
    known = [words.share(mode["matched"], mode["records"]) for mode in (new, old)]
    note = (
        f"{after} after the ideal of {ideal}, acks=all {of_all} after its own; the ideal is known for {known[0]} of "
        f"the records, of acks=all for {known[1]}"
    )
    goal = of_the_ideal(GOALS["P3", q], mine["ideal_us"] / 1000)
    return evaluated(goal, {**apart, "not_shown": not_shown or apart["not_shown"]}, _apart(again), note=note)


def _paused(data: dict[str, Any], measured: Rounds) -> list[dict[str, Any]]:
    broken, calm = ("candidate", FAULT), ("unaffected", FAULT)
    goal, note, noise = GOALS["P4", 999], "", noise_at(data["noise"], FAULT, 999)
    found = measured.ratio(broken, calm, 999)
    if not any(m["role"] == "unaffected" for m in data["modes"]):
        found = {**NOT_MEASURED, "not_shown": NO_UNAFFECTED}
    elif found is None:
        deepest = next((q for q in (990, 900, 500) if measured.ratio(broken, calm, q) is not None), None)
        shown = None if deepest is None else measured.ratio(broken, calm, deepest)
        note = _TOO_FEW
        if shown is not None and deepest is not None:
            note += f"; p{deepest / 10:g} is shown instead"
            found = {**shown, "low": None, "high": None}
    first = evaluated(goal, found, noise, note=note)
    longest = data["fault"]["max_ratio"], noise_of(data["fault"]["max_again"])
    return [first, evaluated(GOALS["P4", "max"], *longest, note=_lost(data))]


def _killed(data: dict[str, Any], of: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    target = data["workload"]["fault"]["target"].removeprefix("rack:")
    # A broker is named by its rack and a number, with a dash where the rack ends in a digit.
    leads = bool({target, re.sub(r"-?\d+$", "", target)} & {*data["workload"]["topic"]["leaders"]})
    old = of.get("baseline", {})
    against_stock = has_set(of.get("candidate", {})) and (old.get("distribution"), old.get("acks")) == (STOCK, "all")
    if leads and not against_stock:
        return []  # an election takes the same time in every mode
    silence = data["fault"]["silence_ratio"], noise_of(data["fault"]["silence_again"])
    return [evaluated(GOALS["P7" if leads else "P5", "gap"], *silence, note=_lost(data))]


def _lost(data: dict[str, Any]) -> str:
    """A note on records of the candidate without an acknowledgement, which are as late as can be."""
    bad = [r for r in data["outcomes"] if (r["role"], r["part"]) == ("candidate", FAULT) and r["outcome"] != "OK"]
    number = sum(r["records"] for r in bad)
    return f"{number} records of the candidate were not acknowledged" if number else ""
