"""Upstream's own compiled tests, on the official jars and on the patched ones."""
