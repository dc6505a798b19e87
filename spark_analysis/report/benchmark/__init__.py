"""The part of the document about benchmarks."""
