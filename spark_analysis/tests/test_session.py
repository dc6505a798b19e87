"""The session starts on machines that lack what larger ones have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# A host name of its own that no file and no server knows.
_APART = ["unshare", "--user", "--map-root-user", "--uts", sys.executable, "-c"]
_NAMED = "import socket; socket.sethostname('unknown-to-everybody');"
_COUNT = "from spark_analysis.session import session; print(session('local[1]').range(3).count())"


def test_a_machine_whose_name_cannot_be_resolved_has_a_local_session() -> None:
    if subprocess.run([*_APART, _NAMED], capture_output=True, check=False).returncode:
        pytest.skip("a host name of its own needs user namespaces, which this machine refuses")
    alone = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_LOCAL_")}
    done = subprocess.run(
        [*_APART, _NAMED + _COUNT],
        cwd=Path(__file__).parents[2],
        env=alone,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr[-3000:]
