"""DataFrames of run folders, and the cache of their results."""
