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


def test_trace_lines_with_a_text_are_those_of_their_logger_alone() -> None:
    made = yaml.safe_load(debug_config(["kafka.A", "kafka.B=Begins here"], "/x/debug.log"))["Configuration"]
    plain, chosen = made["Loggers"]["Logger"]
    assert (plain["level"], chosen["name"], chosen["level"]) == ("debug", "kafka.B", "trace")
    assert "RegexFilter" not in plain["AppenderRef"][0]
    first, *others = chosen["AppenderRef"]
    assert first["RegexFilter"] == {"regex": ".*Begins here.*", "onMatch": "ACCEPT", "onMismatch": "DENY"}
    assert others == plain["AppenderRef"][1:]


def test_the_configuration_of_the_distribution_comes_first() -> None:
    text = option(Distribution(Path("/d")), "/n/extra.yaml")
    assert text == "-Dlog4j2.configurationFile=/d/config/log4j2.yaml,/n/extra.yaml"


def test_a_logger_with_a_file_of_its_own_keeps_it_and_has_no_other() -> None:
    made = yaml.safe_load(debug_config(["state.change.logger=Skipped"], "/x/debug.log"))["Configuration"]
    (logger,) = made["Loggers"]["Logger"]
    assert [reference["ref"] for reference in logger["AppenderRef"]] == ["debug"], "log4j fails to add several to it"
