"""Plain numbers about counts, rounds and blocks; no Spark in the functions."""
