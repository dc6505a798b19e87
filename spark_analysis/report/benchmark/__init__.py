"""The part of the document about benchmarks, and its pictures."""
