"""Kafka distributions: built, found, put into an image."""
