"""The configuration of extra logging, as data; the test of the benchmark reads the lines of a broker."""

from __future__ import annotations

from pathlib import Path

import yaml

from harness.cluster.log4j import debug_config, option
from harness.distribution.locate import Distribution


def test_debug_lines_go_to_a_file_of_their_own() -> None:
    made = yaml.safe_load(debug_config(["kafka.cluster.Partition"], "/x/debug.log"))["Configuration"]
    assert made["Appenders"]["File"]["fileName"] == "/x/debug.log"
    assert made["Appenders"]["File"]["PatternLayout"]["pattern"].startswith("%N ")
    (logger,) = made["Loggers"]["Logger"]
    assert (logger["name"], logger["level"], logger["additivity"]) == ("kafka.cluster.Partition", "debug", False)
    assert logger["AppenderRef"] == [
        {"ref": "debug"},
        {"ref": "console", "level": "info"},
        {"ref": "server", "level": "info"},
    ]


def test_the_configuration_of_the_distribution_comes_first() -> None:
    text = option(Distribution(Path("/d")), "/n/extra.yaml")
    assert text == "-Dlog4j2.configurationFile=/d/config/log4j2.yaml,/n/extra.yaml"
