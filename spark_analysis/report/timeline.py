"""The events of a run as windows, marks and labels, in seconds since its first event or record."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timeline:
    """Events in order of time: ``windows`` are faults, ``marks`` are moments that split the run."""

    windows: list[dict[str, Any]]
    marks: list[dict[str, Any]]


def seconds(t_ns: int, origin_ns: int) -> float:
    """Seconds since the origin, to the millisecond."""
    return round((t_ns - origin_ns) / 1e9, 3)


def label(event: dict[str, Any]) -> str:
    """An event in a few words."""
    data, kind = event["data"], event["kind"]
    name = str(event["name"]).replace("_", " ") if kind != "config" else str(event["name"])
    if kind == "config":
        known = "from" in data and data["from"] is not None
        return f"{name} {data['from']} → {data.get('to')}" if known else f"{name} set to {data.get('to')}"
    if kind == "fault":
        rack = re.fullmatch(r"rack down (\S+?)( healed)?", name)
        nodes = ", ".join(str(n) for n in data.get("nodes", []))
        what = f"rack {rack[1]}" if rack else nodes or name.removesuffix(" healed")
        broken = f"{what} down" if rack or nodes else what
        return {"begin": broken, "end": f"{what} back", "point": f"{what} healed"}[event["state"]]
    return name.replace("-", " ")


def build(events: list[dict[str, Any]], origin_ns: int, end_ns: int) -> Timeline:
    """Fault windows (open ones end with the run) and the marks: faults, config changes, restored ISR."""
    windows: list[dict[str, Any]] = []
    open_windows: dict[str, list[dict[str, Any]]] = {}
    marks = [{"label": "start", "kind": "start", "t_ns": origin_ns, "event": None}]
    settings: dict[str, Any] = {}
    for event in events:
        kind, name, state, t_ns = event["kind"], event["name"], event["state"], event["t_ns"]
        if kind == "fault":
            if state == "end" and open_windows.get(name):
                open_windows[name].pop()["end_s"] = seconds(t_ns, origin_ns)
            elif state == "begin":
                window = {"label": label(event), "begin_s": seconds(t_ns, origin_ns), "end_s": None}
                open_windows.setdefault(name, []).append(window)
                windows.append(window)
        if kind == "config":
            # The event may lack the old value; then it is that of the previous change of the same setting.
            key = f"{name} {event['data'].get('topic', '')}"
            event = {**event, "data": {"from": settings.get(key), **event["data"]}}
            settings[key] = event["data"].get("to")
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
