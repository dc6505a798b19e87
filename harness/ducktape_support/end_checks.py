"""Checks of a cluster at the end of a test: error lines since it began, and a clean shutdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.cluster.cluster_view import answers
from harness.cluster.kafka_cluster import KafkaCluster
from harness.cluster.node import KafkaNode
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for
from harness.hosts.host import ProcessState
from harness.recording.log_errors import Allowed, error_lines

LOG_FILES = ("server.log", "controller.log", "state-change.log", "console.log")
_BEHIND_ANY_END = 1 << 40

# A request of any kind, forwarded or not, and on the next line its exception, wrapped or not.
_REFUSED = r"ControllerApis nodeId=\d+\] Unexpected error handling request .*\n(\S+CompletionException: )?\S+\."

# Error lines of healthy clusters whose nodes are taken away on purpose.
ALLOWED = (
    Allowed(
        r"controller event queue overloaded|Exceptionally slow controller event",
        "the machine gave the controller no time for a while; brokers are fenced by rule, and tests see the ISR",
    ),
    Allowed(
        r"ControllerApis nodeId=\d+\] Unexpected error handling request RequestHeader\(apiKey=CONTROLLER_REGISTRATION",
        "a controller that registers while the quorum elects its leader gets an error, and tries again",
    ),
    Allowed(
        r"ControllerApis nodeId=\d+\] Unexpected error handling request RequestHeader\(apiKey=API_VERSIONS",
        "a controller that starts or ends listens without its Raft client (NullPointerException, as on stock)",
    ),
    Allowed(
        _REFUSED + r"NotControllerException: ",
        "a request comes between a controller's election and its start as the active one; its sender tries again",
    ),
    Allowed(
        _REFUSED + r"TimeoutException: ",
        "a controller without time, or one that ends, has no answer before the deadline; the sender tries again",
    ),
    Allowed(
        r"RegistrationResponseHandler: channel manager timed out before sending the request",
        "a controller could not reach the active one in time to register, and tries again",
    ),
    Allowed(
        r"RaftManager id=\d+\] Graceful shutdown of RaftClient failed",
        "all controllers stop together, so that the last leader finds no quorum to hand over to",
    ),
    Allowed(
        r"Failed to load metadata from \S+ with epoch \d+ due to (Coordinator loader is closed|Stopped loading)",
        "all brokers stop together: one that is ending is given the coordinators of those that ended before",
    ),
    Allowed(
        r"Execution of \w+\(.*\) failed due to EventProcessor is closed\.",
        "a coordinator that is ending is given one more image or partition, and has no thread left for it",
    ),
    Allowed(
        r"Exception when handling request .*\n\S+NullPointerException: .*RequestMetrics\$ErrorMeter",
        "a node that is ending removes its meters before its last answers, as on stock",
    ),
)

Marks = dict[str, int]  # size of each log file at some moment, by "node/file"


def log_marks(kafka: KafkaCluster) -> Marks:
    """Sizes of all log files now."""
    return {
        f"{n.name}/{name}": n.host.rest(f"{n.logs_dir}/{name}", _BEHIND_ANY_END)[0]
        for n in kafka.select("all")
        for name in LOG_FILES
    }


def written_since(marks: Mapping[str, int], node: KafkaNode, name: str) -> str:
    """Text of a log file behind its mark; all of a file that is shorter, since Kafka has begun a new one."""
    path, offset = f"{node.logs_dir}/{name}", marks.get(f"{node.name}/{name}", 0)
    size, text = node.host.rest(path, offset)
    return (text if size >= offset else node.host.rest(path, 0)[1]).decode(errors="replace")


def errors_since(
    marks: Mapping[str, int], kafka: KafkaCluster, allowed: Sequence[Allowed]
) -> Iterator[tuple[str, str]]:
    """Error lines behind the marks that no entry allows, each with the file it is in; every node's lines once."""
    for n in kafka.select("all"):
        observed: set[str] = set()  # the console repeats what the files have
        for name in LOG_FILES:
            for line in error_lines(written_since(marks, n, name), allowed):
                if line not in observed:
                    yield f"{n.name}/{name}", line
                observed.add(line)


def shut_down(kafka: KafkaCluster, seconds: float = 60.0) -> list[str]:
    """Stops all nodes cleanly; returns what was wrong.

    That is nodes that had ended by themselves or did not shut down cleanly, processes that are left, and open ports.
    """
    wrong = [
        f"{status.node} had ended by itself: {status.error}"
        for status in kafka.status().nodes
        if status.state == "failed"
    ]
    alive = [n for n in kafka.select("brokers") if n.look()[1] is ProcessState.RUNNING]
    try:
        kafka.stop("all", seconds=seconds)
    except RackspanError as e:
        wrong.append(e.brief)
    for n in alive:
        if n.host.shell(f"test -e {n.data_dir}/.kafka_cleanshutdown").code != 0:
            wrong.append(f"{n.name} did not shut down cleanly")
    left = kafka.backend.leftovers(str(kafka.folder))
    if left:
        wrong.append(f"processes left: {[p.pid for _, p in left]}")
    try:
        wait_for("ports to be closed", lambda: _closed(kafka), 10)
    except RackspanError as e:
        wrong.append(e.brief)
    return wrong


def _closed(kafka: KafkaCluster) -> bool | Pending:
    open_ports = [
        f"{n.name} on {n.node.address}:{port}"
        for n in kafka.select("all")
        for port in (n.node.port, n.node.metrics_port)
        if answers(n.node.address, port, seconds=0.2)
    ]
    return Pending(f"still open: {', '.join(open_ports)}") if open_ports else True
