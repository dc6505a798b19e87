"""Numbers and findings as text; every number comes from the document."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spark_analysis.statistics.verdict_words import NOT_HERE

REFUSALS_SHOWN = 2
NO_ANSWER = "no answer"
SATURATED_ITSELF = "saturated"
NOT_ENOUGH_SAMPLES = "not enough samples"
# Above this share of CPU time in use, waiting for a CPU outweighs the work itself.
SATURATED = 0.9
# Logarithms of ratios so far apart disagree; so near each other they are the same when they are printed.
_DISAGREES, _ROUNDED = math.log(1.05), 0.002


def count(number: int) -> str:
    """12345 as 12,345."""
    return f"{number:,}"


def records(number: int) -> str:
    """A number of records."""
    return f"{number:,} record" + ("" if number == 1 else "s")


def answers(segment: dict[str, Any]) -> str:
    """When acknowledgements ended (for a fault) or came (for anything else) after a moment."""
    fault = segment["kind"] == "fault-begin"
    value = segment["last_ack_after_s" if fault else "first_ack_after_s"]
    return "none" if value is None else f"{'last' if fault and segment['refused'] else 'first'} after {seconds(value)}"


def predicted(cell: dict[str, str] | None) -> str:
    """Words for what was predicted for acks=all of a topic when racks lose their power."""
    if cell is None:
        return "not known"
    said = {"yes": "", "no": "not ", "unknown": "perhaps "}
    kept = {"yes": "nothing", "no": "acknowledged records", "unknown": "acknowledged records perhaps"}
    return f"{said[cell['writable']]}writable, {said[cell['readable']]}readable, {kept[cell['safe']]} lost"


def milliseconds(us: float | None) -> str:
    """Microseconds as ms with about three digits, or the text for a percentile that the sample does not carry, or at
    which records have no answer.
    """
    if us is None:
        return NOT_ENOUGH_SAMPLES
    if math.isinf(us):
        return NO_ANSWER
    ms = us / 1000
    digits = 0 if ms >= 100 else 1 if ms >= 10 else 2
    return f"{ms:,.{digits}f} ms"


def latency(row: dict[str, Any]) -> str:
    """The latency of one percentile of a mode; one that is infinite since the mode saturated the machine says so."""
    late = row["value_us"] is not None and math.isinf(row["value_us"]) and row.get("saturated")
    return SATURATED_ITSELF if late else milliseconds(row["value_us"])


def seconds(value: float | None) -> str:
    """Seconds with two digits, or a dash."""
    return "-" if value is None else f"{value:,.2f} s"


def percentile(per_thousand: float) -> str:
    """500 as p50, 999.9 as p99.99."""
    return f"p{per_thousand / 10:g}"


def ratio(value: float | None) -> str:
    """A ratio with two digits."""
    return number(value) if value is None or math.isinf(value) else f"{value:.2f}"


def outcome(row: dict[str, Any]) -> str:
    """The outcome with its cause: TIMEOUT (NOT_ENOUGH_RACKS)."""
    return f"{row['outcome']} ({row['cause']})" if row["cause"] else str(row["outcome"])


def durability(data: dict[str, Any]) -> str:
    """One sentence on lost records."""
    totals = data["totals"]
    if data["state"] == "not checked":
        return "Whether acknowledged records were lost was not checked: the topic was not read back to its end."
    others = [*data["unchecked_topics"], *(f"producer {name}" for name in data["without_acks"])]
    part = f" (not checked: {', '.join(others)})" if others else ""
    if not totals["acknowledged"]:
        return f"Whether records were lost is not known: none was acknowledged{part}."
    if totals["lost"]:
        return f"LOST: {count(totals['lost'])} of the {count(totals['acknowledged'])} acknowledged records{part}."
    return f"None of the {count(totals['acknowledged'])} acknowledged records was lost{part}."


def outage_findings(data: dict[str, Any]) -> list[str]:
    """Findings of one outage run, the most important first."""
    out = [durability(data["durability"])]
    for segment in data["segments"]:
        what, refused = segment["label"], segment["refused"]
        if segment["kind"] == "fault-begin":
            named = ", ".join(
                f"{count(r['records'])} {r['name']} (the first after {seconds(r['first_after_s'])})"
                for r in segment["refusals"][:REFUSALS_SHOWN]
            )
            others = sum(r["records"] for r in segment["refusals"][REFUSALS_SHOWN:])
            rest = f" and {count(others)} of other kinds" if others else ""
            refusals = f"sends refused or given up until the next change: {count(refused)}, of these {named}{rest}"
            out.append(
                f"With {what} from {seconds(segment['at_s'])} on, {refusals if refused else 'no send was refused'}."
            )
        elif segment["kind"] == "config":
            again = segment["first_ack_after_s"]
            came = "no acknowledgement came after it" if again is None else f"acknowledged again after {seconds(again)}"
            after = f"{came}, " if _lowered(segment["data"]) or again is None else ""
            out.append(f"{what}: {after}{records(segment['acknowledged'])} acknowledged until the next change.")
    back = next((s["at_s"] for s in data["segments"] if s["kind"] == "fault-end"), None)
    in_sync = next((s["at_s"] for s in data["segments"] if s["kind"] == "isr-restored"), None)
    if back is not None and in_sync is not None and in_sync >= back:
        out.append(f"Every replica was in sync again {seconds(in_sync - back)} after the fault was healed.")
    return out


def _lowered(data: dict[str, Any]) -> bool:
    before, now = data.get("from"), data.get("to")
    return isinstance(now, int) and (before is None or (isinstance(before, int) and now < before))


def trials(row: dict[str, Any]) -> str:
    """The heading of a benchmark that was run several times."""
    return f"{row['name']}: {len(row['runs'])} trials, each on a fresh cluster"


def trials_findings(name: str, number_of: int, goals: list[dict[str, Any]], candidate: str) -> list[str]:
    """Findings on the goals over several trials; one sentence where none was measured."""
    findings = [f"{name}, {number_of} trials: {_goal(row, candidate)}" for row in goals]
    return findings or [f"{name}, {number_of} trials: none of its goals was measured."]


def during(part: str) -> str:
    """The end of a phrase on the time of a fault; empty for the time before it."""
    return " during the fault" if part == "fault" else ""


def labelled(mode: str, part: str) -> str:
    """A mode in a table, with the part of its blocks."""
    return mode + ("," + during(part) if during(part) else "")


def machine(data: dict[str, Any]) -> str:
    """CPU use during the blocks and its effect on the numbers; empty where it was not recorded."""
    if data["cpu_busy"] is None:
        return ""
    text = f"The machine's CPUs were {data['cpu_busy']:.0%} busy in the median block"
    if data["cpu_busy"] < SATURATED:
        return f"{text}."
    return (
        f"{text}: it was saturated, and these latencies are queueing on the machine rather than a property of a mode."
    )


def bench_findings(data: dict[str, Any]) -> list[str]:
    """Findings of one benchmark run: candidate against baseline, then the goals, then the noise."""
    out = [_against_baseline(data, part, q) for part in ("quiet", "fault") for q in (500, 990)]
    out += [_capacity(row) for row in (data["knee"]["capacity"] if data.get("knee") else [])]
    out += [_goal(row, _label(data, "candidate")) for row in data["goals"] if not row["verdict"].startswith(NOT_HERE)]
    for r in data["ratios"]:
        if r["role"] == "control" and r["per_thousand"] in (500, 990) and r["low"] is not None:
            of = percentile(r["per_thousand"]) + during(r["part"])
            out.append(f"{_label(data, 'baseline')} against itself, {of}: {span(r)} (noise).")
    return [sentence for sentence in out if sentence]


def _label(data: dict[str, Any], role: str) -> str:
    return str(next(m["label"] for m in data["modes"] if m["role"] == role))


def _against_baseline(data: dict[str, Any], part: str, per_thousand: int) -> str:
    """One percentile of candidate and baseline; empty where the samples do not carry it."""
    key = ("candidate", part, per_thousand)
    found = next((r for r in data["ratios"] if (r["role"], r["part"], r["per_thousand"]) == key), None)
    if found is None:
        return ""
    values = {r["role"]: r for r in data["pooled"] if (r["part"], r["per_thousand"]) == (part, per_thousand)}
    name = "Median" if per_thousand == 500 else "99th percentile"
    latencies = [f"{latency(values[role])} with {_label(data, role)}" for role in ("candidate", "baseline")]
    span = "" if found["low"] is None else f", 95 % interval {number(found['low'])} to {number(found['high'])}"
    middle = number(found["estimate"])
    of = made_of(found, *(values[role]["value_us"] for role in ("candidate", "baseline")))
    return (
        f"{name} latency{during(part)}: {latencies[0]}, {latencies[1]}; ratio {middle}{of}{span}: {found['verdict']}."
    )


def made_of(row: dict[str, Any], above: float | None, below: float | None) -> str:
    """The ratios of the rounds, whose middle a ratio is, where the values of all rounds together give another one: they
    are more than a twentieth apart, or one is above 1 and the other below. Else empty.
    """
    estimate = row["estimate"]
    if not row["by_round"] or not estimate or not above or not below or math.isinf(above + below + estimate):
        return ""
    together, middle = math.log(above / below), math.log(estimate)
    if abs(together - middle) <= _DISAGREES and (together * middle >= 0 or abs(together - middle) <= _ROUNDED):
        return ""
    return f" (the middle of the rounds' ratios {', '.join(ratio(value) for value in sorted(row['by_round']))})"


def _capacity(row: dict[str, Any]) -> str:
    """The highest throughput of a mode; a lower bound where its knee was not reached."""
    more = "" if row["ended"] == row["rounds"] else " or more: its knee was not reached in every round"
    knee = (
        f"sustained up to {count(round(row['knee_rate']))} records/s" if row["knee_rate"] else "no rate was sustained"
    )
    return f"{row['mode']}: {count(round(row['per_s']))} answers/s at most{more}; {knee}."


def _goal(row: dict[str, Any], candidate: str) -> str:
    middle = "not measured" if row["estimate"] is None else number(row["estimate"])
    span = "" if row["low"] is None else f", 95 % interval {number(row['low'])} to {number(row['high'])}"
    note = f" ({row['note']})" if row["note"] else ""
    return f"{row['id']} {row['what'].replace('candidate', candidate)}: {middle}{span}: {row['verdict']}{note}."


def number(value: float | None) -> str:
    """A ratio with two or three significant digits: 0.842, 0.00071; the sign of infinity for no answer."""
    if value is None:
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.3f}" if abs(value) >= 0.1 else np.format_float_positional(value, 2, fractional=False, trim="-")


def short(value: float) -> str:
    """A value with three significant digits and a comma between thousands; the sign of infinity for no answer."""
    return "∞" if math.isinf(value) else f"{float(f'{value:.3g}'):,.10g}"


def share(part: int, of: int) -> str:
    """A number of records as a share of all, with two decimals; 100.00 % is all of them."""
    if not of:
        return "0.00 %"
    shown = f"{100 * part / of:.2f} %"
    return "less than 100 %" if part < of and shown == "100.00 %" else shown


def chance(value: float | None) -> str:
    """A p with two digits."""
    return "-" if value is None else "< 0.001" if value < 0.001 else f"{value:.2g}"


def noise(row: dict[str, Any]) -> str:
    """The noise of a row, as text: a factor, or a share or ms where the row is about one."""
    if row["noise"] is None:
        return "not known"
    additive = row.get("unit", "ratio") != "ratio"
    return f"±{number(row['noise'])}" if additive else f"×{number(row['noise'])}"  # noqa: RUF001


def span(row: dict[str, Any]) -> str:
    """The ends of a ratio's interval, or a dash."""
    return "-" if row["low"] is None else f"{number(row['low'])} to {number(row['high'])}"


def method(row: dict[str, Any]) -> str:
    """The method behind a ratio, as text."""
    return "rounds" if row["method"] == "per round" else "pooled"
