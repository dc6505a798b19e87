"""Limits of waits for what must come."""

from __future__ import annotations

# Seconds; far more than a busy machine needs. What has not come by then will not come.
STUCK = 180
