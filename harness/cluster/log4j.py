"""Extra logging of a node: debug lines of chosen Kafka loggers in a file of their own, with nanosecond times."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from harness.distribution.locate import Distribution

FILE = "debug.log"


def debug_config(loggers: Sequence[str], path: str) -> str:
    """A log4j2 configuration that adds to the distribution's: lines `<monotonic ns> <message>` at `path`.

    The monotonic clock is the one that the load client uses on the same machine. What these loggers say at level info
    and above still goes where it went.
    """
    elsewhere = [{"ref": name, "level": "info"} for name in ("console", "server")]
    file = {"name": "debug", "fileName": path, "PatternLayout": {"pattern": "%N %m%n"}}
    entries = [
        {"name": name, "level": "debug", "additivity": False, "AppenderRef": [{"ref": "debug"}, *elsewhere]}
        for name in loggers
    ]
    return yaml.safe_dump({"Configuration": {"Appenders": {"File": file}, "Loggers": {"Logger": entries}}})


def option(distribution: Distribution, extra: str) -> str:
    """The JVM option that reads the distribution's configuration and the one at the path `extra` as one."""
    return f"-Dlog4j2.configurationFile={distribution.home}/config/log4j2.yaml,{extra}"
