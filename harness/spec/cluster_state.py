"""The state file of a cluster, from which a later command, also after a crash, takes up the work."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError
from harness.spec.cluster_spec import ClusterSpec

FILE = "state.json"
Phase = Literal["starting", "up", "failed", "kept", "ending"]
Wanted = Literal["running", "stopped", "crashed"]


class NodeRecord(BaseModel):
    """The desired state of a node (`crashed`: it was killed, as in a crash), and its last error."""

    wanted: Wanted = "stopped"
    error: str = ""


class State(BaseModel):
    """A cluster: `block` of loopback addresses (0: none), `phase` (`starting` and `ending` observed later
    mean: interrupted).
    """

    version: Literal[1] = 1
    spec: ClusterSpec
    distribution: str
    block: int
    cluster_id: str
    created_ns: int = Field(default_factory=time.time_ns)
    phase: Phase = "starting"
    nodes: dict[str, NodeRecord] = Field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Writes the state file completely or not at all."""
        write_aside(folder / FILE, self.model_dump_json(indent=1) + "\n")


def load(folder: Path) -> State | None:
    """The state of the cluster in that folder; None if there is none. Raises RackspanError if it cannot be read."""
    try:
        return State.model_validate_json((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValidationError as e:
        raise RackspanError(
            f"cannot read the state of cluster {folder.name}",
            observed=f"{folder / FILE}: {e.error_count()} problems, first: {e.errors()[0]['msg']}",
            do=f"remove what is left of it with `rackspan down {folder.name}`",
        ) from None
