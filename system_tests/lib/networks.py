"""Tests whose racks must be really apart: skipped where the machine cannot have networks of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ducktape.mark import ignore

from harness.ducktape_support.session import NO_NETWORKS
from harness.network.netns_support import attempt

Test = Callable[..., Any]


def can_be_had() -> bool:
    """True if this session's clusters may be on the backend netns."""
    return not (os.environ.get(NO_NETWORKS) or attempt().skip_reason)


def needs_networks(test: Test) -> Test:
    """Marks a test that brings up a cluster on the backend netns; the session says why it was skipped."""
    skipped: Test = test if can_be_had() else ignore(test)
    return skipped
