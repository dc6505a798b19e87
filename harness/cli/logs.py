"""`rackspan logs`: console output of nodes, with the node's name in front of each line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Annotated

import typer

from harness.cli.options import ClusterOption, TargetsArgument, chosen
from harness.cli.output import out
from harness.common.errors import usage_error
from harness.common.wait import pause
from harness.hosts.host import Host

STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\]")
UNITS = {"s": 1, "m": 60, "h": 3600}


def logs(
    targets: TargetsArgument,
    cluster: ClusterOption = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new lines as they are written, until Ctrl-C.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Print only lines of the last 30s, 5m or 1h, for example.",
            show_default="all lines",
        ),
    ] = None,
    grep: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help="Print only lines that match a regular expression.", show_default="all lines"
        ),
    ] = None,
) -> None:
    """Print the console output of nodes: their server log, and why they ended."""
    first = datetime.now() - timedelta(seconds=_seconds(since)) if since else None
    pattern = _pattern(grep)
    nodes = chosen(cluster).select(targets)
    width = max(len(n.name) for n in nodes)
    tails = {n.name: Tail(n.host, n.console_file) for n in nodes}
    while True:
        for name, tail in tails.items():
            for line in selected(tail.lines(), first, pattern):
                out.print(f"{name:<{width}} {line}", markup=False)
        if not follow:
            return
        pause(0.3)


class Tail:
    """Lines added to a file on a host since the last call; begins again if the file was replaced."""

    def __init__(self, host: Host, path: str) -> None:
        self.host = host
        self.path = path
        self.offset = 0

    def lines(self) -> list[str]:
        """The new lines that are complete."""
        size, behind = self.host.rest(self.path, self.offset)
        if size < self.offset:
            self.offset = 0
            _, behind = self.host.rest(self.path, 0)
        text, newline, _ = behind.rpartition(b"\n")
        self.offset += len(text) + len(newline)
        return text.decode(errors="replace").splitlines() if newline else []


def selected(lines: Iterable[str], first: datetime | None, pattern: re.Pattern[str] | None) -> Iterator[str]:
    """Yields lines from `first` on that match; a line without a time belongs to the one before it."""
    recent = first is None
    for line in lines:
        stamp = STAMP.match(line)
        if stamp and first is not None:
            recent = datetime.strptime(f"{stamp[1]}.{stamp[2]}", "%Y-%m-%d %H:%M:%S.%f") >= first
        if recent and (pattern is None or pattern.search(line)):
            yield line


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+)([smh])", text)
    if match is None:
        raise usage_error(f"invalid --since {text}", observed="no number with s, m or h", do="write it as --since 5m")
    return int(match[1]) * UNITS[match[2]]


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text is not None else None
    except re.error as e:
        raise usage_error(f"invalid --grep {text}", observed=str(e), do="give a regular expression") from None
