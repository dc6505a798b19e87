"""Models of events and manifests, as far as the analysis cannot do without: the keys that it reads, and their types.

The contract file has all that is noted; keys that are not named here are not looked at.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Int = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]


class _Read(BaseModel):
    model_config = ConfigDict(strict=True)


class _Place(_Read):
    topic: str
    partition: Int


class _Replica(_Place):
    node: str
    end_offset: Int


class _Producer(_Read):
    producer: str
    acks: str | int = ""
    idempotence: bool | None = None
    retries: Int | None = None
    size: Int = 0
    transaction_records: Int | None = None
    abort_every: Int | None = None


class _Anchored(_Producer):
    """With the times at which the clocks of its machine were read together."""

    mono_ns: Int
    anchor_mono_ns: Int
    anchor_epoch_ns: Int


class _PartitionsRead(_Read):
    complete: bool = True
    level: Int = 0
    recreated: dict[str, Int] = {}


class _ReadBack(_Read):
    topic: str
    complete: bool
    end_offsets: dict[Annotated[str, Field(pattern=r"^\d+$")], Int]
    isolation: str | None = None


class _ObserverFailed(_Read):
    topic: str
    error: str


class _Degrade(_Read):
    topic: str
    promised: Int
    begin_ns: Int
    end_ns: Int


class _Degrades(_Read):
    degrades: list[_Degrade]


class _Range(_Place):
    begin: Int = Field(alias="from")
    to: Int | None


class _Ledger(_Read):
    ranges: list[_Range]


class _Transaction(_Read):
    topic: str
    producer: str
    first: Int
    last: Int
    outcome: str


class _Transactions(_Read):
    transactions: list[_Transaction]


class _Cut(_Place):
    flushed: Int
    end: Int


class _Lost(_Read):
    node: str
    logs: list[_Cut]


class _Event(_Read):
    t_ns: Int
    mono_ns: Int
    kind: str
    name: str
    state: str
    data: dict[str, Any]


class _Features(_Read):
    level: Int = Field(default=1, alias="rackspan.version")


class _Cluster(_Read):
    features: _Features = _Features()


class _Spec(_Read):
    cluster: _Cluster = _Cluster()


class _Clock(_Read):
    epoch_ns: Int
    mono_ns: Int
    ended_mono_ns: Int = 0


class _Manifest(_Read):
    clock: _Clock
    spec: _Spec


_NOTES: dict[str, type[_Read]] = {
    "replica": _Replica,
    "producer": _Producer,
    "partitions-read": _PartitionsRead,
    "read-back": _ReadBack,
    "observer-failed": _ObserverFailed,
    "degrades": _Degrades,
    "ledger": _Ledger,
    "transactions": _Transactions,
}


def event_problems(row: Any) -> str:
    """Names the errors of an event; "" if nothing is."""
    return _problems(_Event, row) or _problems(_of(row), row["data"], "data.")


def manifest_problems(manifest: Any) -> str:
    """Names the errors inside the values of a manifest; "" if nothing is."""
    return _problems(_Manifest, manifest)


def _of(row: dict[str, Any]) -> type[_Read]:
    """The model of the data of an event."""
    if row["kind"] != "note":
        return _Lost if "logs" in row["data"] else _Read
    if row["name"] == "producer" and "anchor_mono_ns" in row["data"]:
        return _Anchored
    return _NOTES.get(row["name"], _Read)


def _problems(model: type[_Read], data: Any, before: str = "") -> str:
    try:
        model.model_validate(data)
    except ValidationError as e:
        errors = e.errors(include_url=False)
        return "; ".join(f"{before}{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors)
    return ""
