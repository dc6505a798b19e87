"""The tables of docs/reference/clients.md, made from the results of the tests.

    python -m system_tests.third_party_clients.table RESULTS docs/reference/clients.md

takes the newest matrix.json, defaults.json and mapping.json below a results folder. Exit code 2 if there are none.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.common import markdown
from harness.common.atomic_files import write_aside
from harness.common.errors import Exit, RackspanError, usage_error
from system_tests.third_party_clients.outcomes import OWN_RETRIES, ClientResult

MATRIX, DEFAULTS, MAPPING = "matrix.json", "defaults.json", "mapping.json"
COLUMNS = {
    MATRIX: ("outage that ends", "outage that stays", "topic that requires too much", "metadata", "reads"),
    DEFAULTS: (OWN_RETRIES,),
    MAPPING: ("without the mapping",),
}
ONE_RUN = "one run"
_ONE_RUN = (
    ("errors in the outage that stays", "outage that stays: errors"),
    ("records written twice in the outage that ends", "outage that ends: twice"),
)

Data = Mapping[str, Any]


def write(file: Path, results: Iterable[ClientResult]) -> None:
    """Writes the results of a test as JSON."""
    text = json.dumps({"clients": [r.as_dict() for r in results]}, indent=2) + "\n"
    write_aside(file, text)


def rows(kind: str, data: Data) -> dict[str, str]:
    """The table's lines by client, of words that do not change from run to run."""
    found = {}
    for c in data["clients"]:
        head = [c["title"], c["version"], "yes" if c["idempotent"] else "no"]
        if c["skip_reason"]:
            head = [c["title"], f"not run: {c['skip_reason']}", ""]
        found[c["key"]] = markdown.line([*head, *(c["cells"].get(column, "") for column in COLUMNS[kind])])
    return found


def render(kind: str, data: Data) -> str:
    """The table of words."""
    head = ["client", "version", "idempotent by default", *COLUMNS[kind]]
    return "\n".join([markdown.table(head, []), *rows(kind, data).values()]) + "\n"


def one_run(data: Data) -> str:
    """The table of what may differ in the next run; the numbers stay in the JSON."""
    lines = [[c["title"], *(_text(c["numbers"].get(n, "")) for _, n in _ONE_RUN)] for c in data["clients"]]
    return markdown.table(["client", *(title for title, _ in _ONE_RUN)], lines) + "\n"


def check(file: Path, document: Path) -> None:
    """Raises AssertionError if the document differs from this run."""
    data = json.loads(file.read_text(encoding="utf-8"))
    said = _between(document.read_text(encoding="utf-8"), file.name)[1].splitlines()
    ran = {c["key"] for c in data["clients"] if not c["skip_reason"]}
    wrong = [line for key, line in rows(file.name, data).items() if key in ran and line not in said]
    assert not wrong, (
        f"{document.name} does not have these lines: {wrong}; if they are right: "
        f"python -m system_tests.third_party_clients.table {file.parent} docs/reference/{document.name}"
    )


def fill(text: str, name: str, table: str) -> str:
    """The document with another table between the marks of that name. Raises RackspanError."""
    before, _, after = _between(text, name)
    return before + table + after


def main() -> int:
    """Writes the tables into the document."""
    parser = argparse.ArgumentParser(description="tables of docs/reference/clients.md from the results of a test run")
    parser.add_argument("results", type=Path)
    parser.add_argument("document", type=Path)
    options = parser.parse_args()
    try:
        text = options.document.read_text(encoding="utf-8")
        found = {kind: _newest(options.results, kind) for kind in COLUMNS}
        if not any(found.values()):
            raise usage_error(
                "there is nothing to make tables of",
                observed=f"no {', '.join(COLUMNS)} below {options.results}",
                do="run `./rackspan test system_tests/third_party_clients` first",
            )
        for kind, file in found.items():
            if file is not None:
                data = json.loads(file.read_text(encoding="utf-8"))
                text = fill(text, kind, render(kind, data))
                text = fill(text, ONE_RUN, one_run(data)) if kind == MATRIX else text
        write_aside(options.document, text)
    except RackspanError as e:
        print(e, file=sys.stderr)
        return int(e.code)
    return int(Exit.OK)


def _newest(folder: Path, name: str) -> Path | None:
    return max(folder.rglob(name), key=lambda p: p.stat().st_mtime, default=None)


def _between(text: str, name: str) -> tuple[str, str, str]:
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise usage_error(
            f"the document has no place for {name}",
            observed=f"not one line {begin.strip()!r} each",
            do="write both marks",
        )
    before, rest = text.split(begin)
    inside, after = rest.split(end)
    return before + begin, inside, end + after


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"`{name}`" for name in value)
    return "" if value == "" else "some" if value else "none"


if __name__ == "__main__":
    sys.exit(main())
