"""PySpark analysis of run folders: tables and one page about what was acknowledged, refused, lost, and how fast."""
