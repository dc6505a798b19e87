"""Run folders to DataFrames, and what is kept of them."""
