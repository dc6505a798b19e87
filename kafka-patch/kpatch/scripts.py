"""Writes the scripts of `bin/` that start one class, from the table `dist/scripts.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from kpatch.errors import KpatchError

_HERE = 'here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")\n'
_HEAP = "export KAFKA_HEAP_OPTS=${{KAFKA_HEAP_OPTS:-{heap}}}\n"
_TOOL = '#!/usr/bin/env bash\n{here}{heap}exec "$here/kafka-run-class.sh" {class_} "$@"\n'
_SERVER = """#!/usr/bin/env bash
# {script} [-daemon] {arguments}
# Environment: as kafka-run-class.sh, and EXTRA_ARGS in place of: {options}
set -euo pipefail
{here}daemon=()
if [ "${{1:-}}" = -daemon ]; then daemon=(-daemon); shift; fi
if [ $# -eq 0 ]; then
  echo "usage: {script} [-daemon] {arguments}" >&2
  exit 1
fi
{heap}export KAFKA_LOG4J_OPTS=${{KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=$here/../config/{log}}}
read -r -a extra <<< "${{EXTRA_ARGS-{options}}}" || true
exec "$here/kafka-run-class.sh" ${{daemon[@]+"${{daemon[@]}}"}} ${{extra[@]+"${{extra[@]}}"}} {class_} "$@"
"""
_KEYS = {
    "tool": {"class", "heap"},
    "own": {"class", "heap"},
    "server": {"class", "heap", "name", "log", "garbage", "arguments"},
}


def generate(table: Path, own: bool) -> dict[str, str]:
    """File name -> text of each script of the table, those of our own classes if `own`.

    Raises KpatchError for an unknown key.
    """
    rows = tomllib.loads(table.read_text())
    found = {}
    for kind, scripts in rows.items():
        if kind == "own" and not own:
            continue
        for script, row in scripts.items():
            unknown = set(row) - _KEYS.get(kind, set())
            if unknown:
                raise KpatchError(
                    f"{table.name}: {script}", f"unknown {', '.join(sorted(unknown))}", "Correct the table"
                )
            heap = _HEAP.format(heap=row["heap"]) if "heap" in row else ""
            if kind != "server":
                found[script] = _TOOL.format(here=_HERE, heap=heap, class_=row["class"])
                continue
            options = f"-name {row['name']}" + (" -loggc" if row.get("garbage") else "")
            found[script] = _SERVER.format(
                script=script, arguments=row["arguments"], options=options, here=_HERE, heap=heap, log=row["log"],
                class_=row["class"],
            )  # fmt: skip
    return found
