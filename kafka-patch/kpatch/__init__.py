"""Builds the Rackspan distribution from the published sources of one pinned Kafka version (standard library only)."""
