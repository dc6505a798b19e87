"""Faults: each a context manager that heals on entry as well as on exit and writes its times as events."""
