"""Benchmarks and the outage: workloads, campaigns, and their runs."""
