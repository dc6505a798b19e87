"""The program: `python -m spark_analysis`, or this file given to spark-submit."""

import sys
from pathlib import Path

# spark-submit puts this folder first, where `statistics` would hide the standard library's module.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

from spark_analysis.cli import main  # noqa: E402  (the path comes first)

sys.exit(main())
