"""Run folders of older schema versions, read as the present one; the contract file names each change."""

from __future__ import annotations

from typing import Any

from spark_analysis.input import schemas


def upgraded(events: list[dict[str, Any]], version: int) -> list[dict[str, Any]]:
    """Events of a folder of that schema version with the names of the present version."""
    older = schemas.contract()["older"].get(str(version))
    if older is None:
        return events
    return [
        {**event, "name": _name(event, older["names"]), "data": _renamed(event["data"], older["keys"])}
        for event in events
    ]


def _name(event: dict[str, Any], names: dict[str, str]) -> str:
    first, space, rest = str(event["name"]).partition(" ")
    return f"{names.get(first, first)}{space}{rest}" if event["kind"] == "fault" else str(event["name"])


def _renamed(value: Any, keys: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {keys.get(key, key): _renamed(inner, keys) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, keys) for inner in value]
    return value
