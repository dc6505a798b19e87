"""`python -m kpatch`."""

import signal
import sys

from kpatch.cli import main

# Gradle ends a step with SIGTERM when its user or its client goes; what the step has started must end with it.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
raise SystemExit(main())
