"""`rackspan doctor`: checks of this machine."""

from __future__ import annotations

from dataclasses import asdict

import typer

from harness.cli.capabilities import Check, examine
from harness.cli.options import FormatOption
from harness.cli.output import Format, data, out, table
from harness.common.errors import Exit


def doctor(output: FormatOption = Format.TABLE) -> None:
    """Check what this machine has of what clusters need; exit code 4 if something is missing that all of them need."""
    checks = examine()
    if output is Format.TABLE:
        out.print(table(("CHECK", "STATUS", "OBSERVED", "UNAVAILABLE"), [_row(c) for c in checks]))
    else:
        data([asdict(c) for c in checks], output)
    if any(c.needed and not c.ok for c in checks):
        raise typer.Exit(Exit.ENVIRONMENT)


def _row(c: Check) -> tuple[str, ...]:
    return (c.name, "ok" if c.ok else "missing", c.observed, "" if c.ok else c.disables)
