"""Extra logging of a node: debug lines of chosen Kafka loggers in a file of their own, with nanosecond times."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from harness.distribution.locate import Distribution

FILE = "debug.log"
# Loggers for which the distribution names a file of their own: log4j adds ours to it.
_PLACED = ("state.change.logger",)


def debug_config(loggers: Sequence[str], path: str) -> str:
    """A log4j2 configuration that adds to the distribution's: lines `<monotonic ns> [<thread>] <message>` at `path`.

    `NAME` is a logger whose debug lines are wanted, `NAME=TEXT` one of whose trace lines those that contain a text are.
    The monotonic clock is the one that the load client uses on the same machine. What these loggers say at level info
    and above still goes where it went.
    """
    elsewhere = [{"ref": name, "level": "info"} for name in ("console", "server")]
    file = {"name": "debug", "fileName": path, "PatternLayout": {"pattern": "%N [%t] %m%n"}}
    entries = []
    for logger in loggers:
        name, _, text = logger.partition("=")
        wanted = {"RegexFilter": {"regex": f".*{text}.*", "onMatch": "ACCEPT", "onMismatch": "DENY"}} if text else {}
        references = [{"ref": "debug", **wanted}, *([] if name in _PLACED else elsewhere)]
        level = "trace" if text else "debug"
        entries.append({"name": name, "level": level, "additivity": False, "AppenderRef": references})
    return yaml.safe_dump({"Configuration": {"Appenders": {"File": file}, "Loggers": {"Logger": entries}}})


def option(distribution: Distribution, extra: str) -> str:
    """The JVM option that reads the distribution's configuration and the one at the path `extra` as one."""
    return f"-Dlog4j2.configurationFile={distribution.home}/config/log4j2.yaml,{extra}"
