"""Git, made independent of whoever runs it: no user or system configuration, fixed committer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kpatch.errors import KpatchError

IDENTITY = ("Rackspan", "rackspan@localhost")
EPOCH = "2026-01-01T00:00:00+0000"


def git(where: Path, *args: str, stdin: bytes | None = None, env: dict[str, str] | None = None, ok: bool = True) -> str:
    """Runs git in a folder and returns its output; raises KpatchError when it fails and `ok` is wanted."""
    full = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    full |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": IDENTITY[0],
        "GIT_AUTHOR_EMAIL": IDENTITY[1],
        "GIT_COMMITTER_NAME": IDENTITY[0],
        "GIT_COMMITTER_EMAIL": IDENTITY[1],
        "GIT_AUTHOR_DATE": EPOCH,
        "GIT_COMMITTER_DATE": EPOCH,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    full |= env or {}
    done = subprocess.run(["git", *args], cwd=where, env=full, input=stdin, capture_output=True, check=False)
    if done.returncode and ok:
        observed = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
        raise KpatchError(f"git {args[0]} failed in {where.name}", observed, "Nothing was changed outside that folder")
    return done.stdout.decode(errors="surrogateescape")
