"""Files in a cluster's folder by which the link controller and the delay daemon reach each other."""

from __future__ import annotations

import json
from pathlib import Path

from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for

DAEMON = "delay-daemon.json"  # process and networks of the delay daemon, once it serves
DAEMON_LOG = "delay-daemon.log"
LINKS = "links.json"  # links as requested
APPLIED = "links.applied"  # version of the links in force, or what prevented it


def wait_applied(folder: Path, version: int = 1) -> None:
    """Waits until the delay daemon has that version in force. Raises RackspanError with what prevented it."""

    def applied() -> bool | Pending:
        try:
            answer = json.loads((folder / APPLIED).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Pending("no answer yet")
        if answer["version"] < version:
            return Pending(f"version {answer['version']} of {version}")
        if answer["error"]:
            raise _NotApplied("the links cannot be set", observed=answer["error"], do="see `rackspan doctor`")
        return True

    wait_for("the links to be set", applied, 30, every=0.01, at_once=_NotApplied)


class _NotApplied(RackspanError):
    """The delay daemon could not set the links."""
