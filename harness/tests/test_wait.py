"""Waits: the value that they return, the exceptions that they ignore, and the text of a timeout."""

from __future__ import annotations

import pickle

import pytest

from harness.common.errors import Exit, RackspanError
from harness.common.wait import Pending, WaitTimeout, wait_for


def test_a_wait_returns_the_value_of_the_probe() -> None:
    values = iter([Pending("none yet"), 0, "found"])
    updates: list[str] = []
    assert wait_for("a value", lambda: next(values), 5, every=0.001, update=updates.append) == "found"
    assert updates == ["none yet", "0"]


def test_a_timeout_reports_label_time_tries_and_last_value() -> None:
    with pytest.raises(WaitTimeout) as e:
        wait_for("a leader", lambda: Pending("2 of 3 voters"), 0.05, every=0.02, do="start ctrl-1")
    assert e.value.what.startswith("gave up waiting for a leader after 0.")
    assert e.value.observed == f"{e.value.tries} tries; last value: 2 of 3 voters"
    assert e.value.do == "start ctrl-1"
    assert e.value.code == Exit.TIMEOUT
    assert e.value.tries >= 2


def test_a_timeout_reports_the_last_exception() -> None:
    def probe() -> bool:
        raise ConnectionRefusedError("port 9092\nrefused")

    with pytest.raises(
        WaitTimeout, match="1 try; last value: None; last exception: ConnectionRefusedError: port 9092 refused"
    ):
        wait_for("a port", probe, 0)


def test_a_later_value_replaces_an_earlier_exception() -> None:
    answers: list[object] = [OSError("early"), False]

    def probe() -> object:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(WaitTimeout) as e:
        wait_for("x", probe, 0.03, every=0.01)
    assert "early" not in e.value.observed and "last value: False" in e.value.observed


def test_interrupts_and_fatal_errors_are_not_waited_on() -> None:
    def interrupted() -> bool:
        raise KeyboardInterrupt

    def fatal() -> bool:
        raise LookupError("gone")

    with pytest.raises(KeyboardInterrupt):
        wait_for("x", interrupted, 60)
    with pytest.raises(LookupError, match="gone"):
        wait_for("x", fatal, 60, at_once=LookupError)


def test_the_probe_is_called_once_more_at_the_timeout() -> None:
    calls: list[int] = []

    def probe() -> bool:
        calls.append(1)
        return len(calls) == 2

    assert wait_for("x", probe, 0.05, every=10)


def test_errors_pass_between_processes() -> None:
    error = RackspanError("a failed", observed="b", do="c", code=Exit.ENVIRONMENT)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == "a failed\n  observed: b\n  do:       c" and copy.code == Exit.ENVIRONMENT
    with pytest.raises(WaitTimeout) as e:
        wait_for("x", lambda: False, 0)
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)
