"""The part of a run that was not read back, so that nobody knows whether it was lost."""

from __future__ import annotations

from typing import Any

from spark_analysis.report import words


def unchecked(part: dict[str, Any]) -> list[str]:
    """Records of a run with an outage whose fate is not known, as phrases; empty if all that were acknowledged were
    looked for.
    """
    name = part["name"]
    found = part["outage"]["durability"]
    if found["state"] == "not checked":
        return [name]
    gaps = [f"topic {topic}" for topic in found["unchecked_topics"]]
    gaps += [f"producer {producer}, which has no acknowledgements on file" for producer in found["without_acks"]]
    if found["phantoms"]:
        gaps.append(f"{words.records(found['phantoms'])} that were read, and whose sends are not on file")
    return [f"{gap} (of {name})" for gap in gaps]
