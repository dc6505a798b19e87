"""Campaigns: several workloads, or the outage, one after the other, reported on one page. Pure data.

A workload's own file is a campaign of one part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from harness.benchmark import workload
from harness.benchmark.workload import Workload
from harness.common.errors import RackspanError, usage_error
from harness.common.validation import Strict, unknown, validated
from harness.spec.cluster_spec import NAME


class Part(Strict):
    """One workload of a campaign, with what is different about it here, or the outage scenario."""

    scenario: Literal["outage"] | None = Field(None, description="outage: what is refused, and when writes resume")
    workload: str = Field(
        "", description="a shipped workload, or the path of a file, from the campaign's own folder on"
    )
    modes: list[str] = Field(default_factory=list, description="which of its modes take part; without it all do")
    times: int = Field(1, ge=1, description="so often one after the other, each time on a cluster of its own")
    change: dict[str, Any] = Field(
        default_factory=dict, description="keys of the workload with other values; inside mappings the others stay"
    )

    @model_validator(mode="after")
    def _one(self) -> Part:
        if bool(self.workload) == bool(self.scenario) or (self.scenario and (self.modes or self.change)):
            raise ValueError("give a workload, with modes and change where wanted, or a scenario alone")
        return self


class _File(Strict):
    apiVersion: Literal["rackspan/v1"] = "rackspan/v1"
    name: str = Field(pattern=f"^{NAME}$")
    about: str = Field("", description="one sentence on what its parts are for")
    parts: list[Part] = Field(min_length=1)


@dataclass(frozen=True)
class Outage:
    """The outage scenario; `seconds` is the length of its stretches, None for its own."""

    name: str = "outage"
    backend: str = "local"
    seconds: float | None = None

    def changed(self, *, rounds: int | None, seconds: float | None, warmup: float | None) -> Outage:
        """A copy with stretches of that length; it has neither rounds nor a warm-up."""
        return self if seconds is None else replace(self, seconds=seconds)

    def on(self, backend: str | None) -> Outage:
        """A copy for another backend."""
        return self if backend is None else replace(self, backend=backend)


@dataclass(frozen=True)
class Campaign:
    """The input of `rackspan bench`: workloads in their order, a run folder each."""

    name: str
    parts: tuple[Workload | Outage, ...]

    def changed(self, *, rounds: int | None, seconds: float | None, warmup: float | None) -> Campaign:
        """A copy with other lengths in every part."""
        parts = tuple(w.changed(rounds=rounds, seconds=seconds, warmup=warmup) for w in self.parts)
        return replace(self, parts=parts)

    def on(self, backend: str | None) -> Campaign:
        """A copy for another backend, or for those that its parts name; each must be able to do what its part needs.

        Raises RackspanError (exit code 4).
        """
        parts = (p.on(backend) if isinstance(p, Outage) else p.on(backend or p.cluster.backend) for p in self.parts)
        return replace(self, parts=tuple(parts))


def load(name: str) -> Campaign:
    """A shipped campaign or workload by name, or one in a file. Raises RackspanError (exit code 2)."""
    path, data = workload.document(name)
    if not isinstance(data, dict) or "parts" not in data:
        only = workload.checked(data, str(path))
        return Campaign(only.name, (only,))
    file = validated(
        _File,
        data,
        where=str(path),
        what="campaign",
        begin="begin with `apiVersion: rackspan/v1`, `name:` and `parts:`, as campaigns/near-far.yaml does",
        do="correct it; harness/benchmark/campaign.py says what each key means",
    )
    parts = [(part.times, _part(path, number, part)) for number, part in enumerate(file.parts)]
    return Campaign(file.name, tuple(one for times, one in parts for _ in range(times)))


def _part(campaign: Path, number: int, part: Part) -> Workload | Outage:
    if part.scenario is not None:
        return Outage()
    where = f"parts.{number} of {campaign}"
    by_path = Path(part.workload).suffix in (".yaml", ".yml")
    path, data = workload.document(str(campaign.parent / part.workload) if by_path else part.workload)
    if isinstance(data, dict) and "parts" in data:
        raise usage_error(
            f"{where} is not valid", observed=f"{path.name} is a campaign itself", do="name the workloads that it names"
        )
    base = workload.checked(data, str(path))  # says what is wrong with the file itself before any change
    assert isinstance(data, dict)
    named = _chosen(where, part.modes, data["modes"]) if part.modes else data["modes"]
    try:
        return workload.checked(merged({**data, "modes": named}, part.change), where)
    except RackspanError as e:
        raise usage_error(
            e.what, observed=e.observed, do=f"correct what the part changes of workload {base.name}"
        ) from e


def _chosen(where: str, wanted: list[str], modes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = [m["name"] for m in modes]
    for name in wanted:
        if name not in names:
            raise usage_error(
                f"{where} is not valid", observed=f"modes: {unknown(name, names, 'mode')}", do="name some of them"
            )
    return [m for m in modes if m["name"] in wanted]


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `change`; mappings in both are merged in the same way."""
    out = dict(base)
    for key, value in change.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both else value
    return out
