"""Flags of JVMs that start fast and live for seconds or minutes."""

from __future__ import annotations

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
