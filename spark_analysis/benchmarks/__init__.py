"""Benchmarks of the analysis itself: not tests, run by hand, figures in the README beside them."""
