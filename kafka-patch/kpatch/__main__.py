"""`python -m kpatch`."""

from kpatch.cli import main

raise SystemExit(main())
