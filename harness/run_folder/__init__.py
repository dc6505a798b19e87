"""The run folder: written here, read by the analysis."""
