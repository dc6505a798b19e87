"""The file of gates: what a report must show for a change to pass, as YAML; every key is checked when it is read."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from spark_analysis.errors import USAGE, AnalysisError
from spark_analysis.statistics.verdict_words import FLOOR_MET, GOAL_MET, IMPROVED, WITHIN_NOISE

# Verdicts that more noise never leads to: "within noise" is what a noisy run shows of anything.
_VERDICTS = {"ratio": (IMPROVED,), "goal": (GOAL_MET, FLOOR_MET)}


class Gate(BaseModel):
    """One requirement on every run of a name. A bound is about the full 95 % interval, made wider by the noise of the
    run, not about its middle: all of it must lie inside.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, description="the requirement, as text")
    of: Literal["ratio", "goal", "lost", "invalid", "skipped"]
    run: str = Field(
        "*", description="name of the runs it is about, with * and ?; each must have the value, unless it is * alone"
    )
    goal: str = Field("", pattern=r"^(P\d)?$", description="of a goal: its id")
    mode: str = Field("candidate", description="of a ratio: role of the mode that is compared with the baseline")
    quantile: str = Field("p99", pattern=r"^p\d\d(\.\d{1,2})?$", description="of a ratio: its percentile")
    part: Literal["quiet", "fault"] = Field("quiet", description="of a ratio: before or during the fault")
    at_most: float | None = None
    at_least: float | None = None
    verdict: list[str] = Field(default_factory=list, description="the verdicts that pass")
    unknown: Literal["missed", "met"] = Field("missed", description="outcome where the report has no value")

    @model_validator(mode="after")
    def _fits(self) -> Gate:
        known = _VERDICTS.get(self.of, ())
        if self.of == "ratio" and WITHIN_NOISE in self.verdict:
            raise ValueError(f"{WITHIN_NOISE!r} does not pass a gate, as more noise would; give at_most in its place")
        for verdict in self.verdict:
            if verdict not in known:
                raise ValueError(f"{self.of} has no verdict {verdict!r}; known: {', '.join(known) or 'none'}")
        if self.of == "goal" and not self.goal:
            raise ValueError("a goal needs its id, as `goal: P2`")
        if self.of != "goal" and self.at_most is None and self.at_least is None and not self.verdict:
            raise ValueError("nothing is demanded: give at_most, at_least or verdict")
        return self


class Gates(BaseModel):
    """A file of gates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    apiVersion: Literal["rackspan/v1"] = "rackspan/v1"
    gates: list[Gate] = Field(min_length=1)


def load(path: Path) -> Gates:
    """Gates of a YAML file. Raises AnalysisError (exit code 2) that names every bad key and the nearest known one."""
    data = _yaml(path)
    if not isinstance(data, dict):
        raise AnalysisError(
            f"{path} is no file of gates",
            observed=f"a {type(data).__name__} where keys and values are expected",
            do="begin with `gates:` and a list; docs/results/gates.yaml is one",
            code=USAGE,
        )
    try:
        return Gates.model_validate(data)
    except ValidationError as e:
        raise AnalysisError(
            f"{path} is not valid",
            observed="; ".join(_problem(error) for error in e.errors()),
            do="correct the keys named above; spark_analysis/report/gate_file.py says what each one means",
            code=USAGE,
        ) from None


def _yaml(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise AnalysisError(
            f"cannot read the gates {path}", observed=str(e.strerror), do="give the path of a YAML file", code=USAGE
        ) from e
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise AnalysisError(
            f"{path} is not YAML", observed=" ".join(str(e).split()), do="correct the line named above", code=USAGE
        ) from e


def _problem(error: Any) -> str:
    """One of pydantic's errors as text."""
    place = [str(part) for part in error["loc"]]
    if error["type"] == "extra_forbidden":
        known = list((Gate if len(place) > 1 else Gates).model_fields)
        near = difflib.get_close_matches(place[-1], known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        inside = f"{'.'.join(place[:-1])}: " if len(place) > 1 else ""
        return f"{inside}no key {place[-1]!r}; {hint}"
    text = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] not in ("value_error", "missing"):
        text += f", not {error['input']!r}"
    return f"{'.'.join(place)}: {text}" if place else text
