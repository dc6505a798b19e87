"""Error lines that every test may find in a node's log."""

from __future__ import annotations

import pytest

from harness.ducktape_support.end_checks import ALLOWED
from harness.recording.log_errors import error_lines

DIRECT = "RequestHeader(apiKey=BROKER_HEARTBEAT, apiVersion=2) -- BrokerHeartbeatRequestData(brokerId=1)"
FORWARDED = "Forwarded request: RequestContext(header=RequestHeader(apiKey=ENVELOPE, apiVersion=0, clientId=1))"
NOT_ACTIVE = "org.apache.kafka.common.errors.NotControllerException: The active controller appears to be node 102."
LATE = "org.apache.kafka.common.errors.TimeoutException: The controller is shutting down."
WRAPPED = "java.util.concurrent.CompletionException: "
UNEXPECTED = "org.apache.kafka.common.errors.UnknownServerException: java.lang.NullPointerException"


def _logged(request: str, exception: str) -> str:
    return f"[x] ERROR [ControllerApis nodeId=101] Unexpected error handling request {request}\n{exception}\n\tat y\n"


@pytest.mark.parametrize("request_", [DIRECT, FORWARDED])
@pytest.mark.parametrize("exception", [NOT_ACTIVE, LATE, WRAPPED + NOT_ACTIVE, WRAPPED + LATE])
def test_a_controller_that_is_not_active_or_has_no_time_is_no_error(request_: str, exception: str) -> None:
    assert error_lines(_logged(request_, exception), ALLOWED) == []


@pytest.mark.parametrize("exception", [UNEXPECTED, WRAPPED + UNEXPECTED])
def test_an_unexpected_exception_of_a_controller_is_an_error(exception: str) -> None:
    assert len(error_lines(_logged(DIRECT, exception), ALLOWED)) == 1


@pytest.mark.parametrize(
    ("cause", "count"), [("network.metrics.RequestMetrics$ErrorMeter.getOrCreateMeter()", 0), ("x", 1)]
)
def test_a_node_that_ends_answers_after_its_meters_are_gone(cause: str, count: int) -> None:
    line = "[x] ERROR [Kafka Request Handler 3 on Controller 101] Exception when handling request (kafka.server.X)"
    found = error_lines(f'{line}\njava.lang.NullPointerException: Cannot invoke "{cause}"\n\tat y\n', ALLOWED)
    assert len(found) == count
