"""Soak: seeded faults under load, cycle after cycle, each judged by the checker."""
