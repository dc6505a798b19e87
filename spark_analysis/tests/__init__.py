"""Tests on generated runs whose answers are known."""
