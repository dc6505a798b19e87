"""The events of a run as windows, marks and labels, in seconds since its first event or record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timeline:
    """What happened when: ``windows`` are faults, ``marks`` are moments that split the run, both in order."""

    windows: list[dict[str, Any]]
    marks: list[dict[str, Any]]


def seconds(t_ns: int, origin_ns: int) -> float:
    """Seconds since the origin, to the millisecond."""
    return round((t_ns - origin_ns) / 1e9, 3)


def label(event: dict[str, Any]) -> str:
    """An event in a few words."""
    data, kind, name = event["data"], event["kind"], str(event["name"])
    if kind == "fault":
        target = f"rack {data['rack']}" if "rack" in data else str(data.get("node", data.get("target", ""))).strip()
        what = name.replace("-", " ")
        shown = f"{target} down" if what == "rack down" else f"{what} {target}".strip()
        return shown if event["state"] == "begin" else f"{target or what} back"
    if kind == "config":
        return f"{name} {data.get('from', '?')} → {data.get('to', '?')}"
    return name.replace("-", " ")


def build(events: list[dict[str, Any]], origin_ns: int, end_ns: int) -> Timeline:
    """Fault windows (open ones last to the end) and the marks: fault begins and ends, config changes, restored ISR."""
    windows: list[dict[str, Any]] = []
    open_windows: dict[str, list[dict[str, Any]]] = {}
    marks = [{"label": "start", "kind": "start", "t_ns": origin_ns, "event": None}]
    for event in events:
        kind, name, state, t_ns = event["kind"], event["name"], event["state"], event["t_ns"]
        if kind == "fault":
            key = name + str(event["data"].get("rack", event["data"].get("node", "")))
            if state == "end" and open_windows.get(key):
                open_windows[key].pop()["end_s"] = seconds(t_ns, origin_ns)
            elif state == "begin":
                window = {"label": label(event), "begin_s": seconds(t_ns, origin_ns), "end_s": None}
                open_windows.setdefault(key, []).append(window)
                windows.append(window)
        if kind in ("fault", "config") or (kind, name) == ("note", "isr-restored"):
            role = f"{kind}-{state}" if kind == "fault" else "config" if kind == "config" else name
            marks.append({"label": label(event), "kind": role, "t_ns": t_ns, "event": event})
    for window in windows:
        if window["end_s"] is None:
            window["end_s"] = seconds(end_ns, origin_ns)
    marks.sort(key=lambda m: int(str(m["t_ns"])))
    return Timeline(windows, marks)


def bucket_seconds(length_s: float) -> float:
    """Width of a time bucket: about 150 of them over the run, never finer than 100 ms."""
    for width in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0):
        if length_s / width <= 160:
            return width
    return 300.0
