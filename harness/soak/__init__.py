"""Soak: seeded faults under load, cycle after cycle, each evaluated by the checker."""
