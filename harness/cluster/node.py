"""One Kafka process on a host: its files, its start and its end. Knows hosts only through their interface."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM, Signals

from harness.cluster import log4j
from harness.cluster.jvm_options import JvmOptions
from harness.cluster.server_properties import server_properties, to_text
from harness.common.errors import RackspanError
from harness.common.wait import Pending, wait_for
from harness.distribution.locate import Distribution
from harness.hosts.host import Host, Output, Process, ProcessState, exports
from harness.spec.topology import Node, Plan

NO_TOOL = 127  # a shell's exit code for a command that is not there

# Variables that a user's shell may hold and a cluster must not inherit.
FOREIGN = (
    "CLASSPATH",
    "KAFKA_LOG4J_OPTS",
    "JMX_PORT",
    "KAFKA_DEBUG",
    "KAFKA_GC_LOG_OPTS",
)


class KafkaNode:
    """A broker or controller: `host` is where it runs, `host.root` holds all its files.

    `jvm` is called only when something is started, since it may take a while to know; `marker` goes into the
    environment.
    """

    def __init__(
        self,
        host: Host,
        plan: Plan,
        node: Node,
        distribution: Distribution,
        jvm: Callable[[], JvmOptions],
        marker: Mapping[str, str],
    ) -> None:
        self.host = host
        self.plan = plan
        self.node = node
        self.distribution = distribution
        self.jvm = jvm
        self.marker = dict(marker)
        self.data_dir = f"{host.root}/data"
        self.logs_dir = f"{host.root}/logs"
        self.properties_file = f"{host.root}/server.properties"
        self.pid_file = f"{host.root}/pid"
        self.console_file = f"{host.root}/logs/console.log"
        self.debug_file = f"{host.root}/logs/{log4j.FILE}"
        self._debug_config = f"{host.root}/debug-log4j2.yaml"

    @property
    def name(self) -> str:
        return self.node.name

    def write_config(self) -> None:
        """Writes server.properties, and the configuration of extra logging where the spec requires it."""
        self.host.write(self.properties_file, to_text(server_properties(self.plan, self.node, self.data_dir)))
        if self._debug:
            self.host.write(self._debug_config, log4j.debug_config(self._debug, self.debug_file))

    def tool_environment(self) -> dict[str, str]:
        """Environment for Kafka's own tools on this host."""
        return self.marker | self.jvm().tool_environment(self.logs_dir)

    def tool(self, script: str, *arguments: str, seconds: float = 60.0, typed: str = "") -> Output:
        """The result of one of Kafka's own tools of this node's distribution, run on its host; `typed` is its standard
        input. The code is NO_TOOL where the distribution does not have it.
        """
        run = f"printf %s {shlex.quote(typed)} | {shlex.join([self.distribution.script(script), *arguments])}"
        return self.host.shell(exports(self.tool_environment()) + run, seconds=seconds)

    def start(self) -> Process:
        """Starts the process (nothing if it runs already). Raises RackspanError, also if it is paused."""
        process, state = self.look()
        if state is ProcessState.PAUSED:
            raise RackspanError(
                f"cannot start {self.name}",
                observed="it is paused",
                do=f"let it continue with `rackspan resume {self.name}`",
            )
        if process is not None and state is not ProcessState.GONE:
            return process
        unset = [part for name in FOREIGN for part in ("-u", name)]
        env = self.marker | self.jvm().environment(self.node, self.logs_dir)
        if self._debug:
            env["KAFKA_OPTS"] = f"{env['KAFKA_OPTS']} {log4j.option(self.distribution, self._debug_config)}".strip()
        return self.host.start(
            ["env", *unset, self.distribution.script("kafka-server-start.sh"), self.properties_file],
            pid_file=self.pid_file,
            output=self.console_file,
            env=env,
        )

    def look(self) -> tuple[Process | None, ProcessState]:
        """The process of the pid file and its state."""
        process = self.host.process(self.pid_file)
        return process, ProcessState.GONE if process is None else self.host.state(process)

    def signal(self, number: Signals) -> bool:
        """Signals the process; False if there is none."""
        process = self.host.process(self.pid_file)
        return process is not None and self.host.signal(process, number)

    def stop(self, seconds: float = 40.0) -> None:
        """Shuts the process down cleanly and waits for it.

        Raises WaitTimeout; the process is then left as it is.
        """
        self.terminate()
        wait_gone([self], seconds, do=f"`rackspan kill {self.name}` ends it at once")

    def terminate(self) -> None:
        """Asks the process to shut down cleanly; does not wait."""
        self.signal(SIGTERM)
        self.signal(SIGCONT)  # a paused process acts on SIGTERM only when it continues

    def kill(self) -> None:
        """Ends the process at once (kill -9) and waits until it is gone."""
        self.signal(SIGKILL)
        wait_gone([self], 20.0, do="see whether it hangs in the kernel: state D in `ps`")

    def pause(self) -> None:
        """Pauses the process: connections stay open, nothing is answered. Raises RackspanError if it does not run."""
        self._must(SIGSTOP, "pause", ProcessState.PAUSED)

    def resume(self) -> None:
        """Lets a paused process continue. Raises RackspanError if there is none."""
        self._must(SIGCONT, "resume", ProcessState.RUNNING)

    def last_error(self) -> str:
        """The last error in what the node wrote, else its last line; "" if it wrote nothing."""
        for path in (self.console_file, f"{self.logs_dir}/server.log"):
            error = last_error(self.host.tail(path))
            if error:
                return error
        return ""

    @property
    def _debug(self) -> list[str]:
        return self.plan.spec.debug if self.node.role == "broker" else []

    def _must(self, number: Signals, verb: str, result: ProcessState) -> None:
        if not self.signal(number):
            raise RackspanError(
                f"cannot {verb} {self.name}",
                observed="it is not running",
                do=f"start it with `rackspan start {self.name}`",
            )
        wait_for(
            f"{self.name} to be {result.value}",
            lambda: self.look()[1] is result or Pending(f"it is {self.look()[1].value}"),
            10,
            every=0.02,
        )


def wait_gone(nodes: Sequence[KafkaNode], seconds: float, *, do: str) -> None:
    """Waits until the processes of all nodes have ended. Raises WaitTimeout."""

    def gone() -> bool | Pending:
        left = [f"{n.name} is {n.look()[1].value}" for n in nodes if n.look()[1] is not ProcessState.GONE]
        return Pending(", ".join(left)) if left else True

    wait_for(f"{names_of(nodes)} to end", gone, seconds, every=0.05, do=do)


def names_of(nodes: Sequence[KafkaNode]) -> str:
    """Names for a person: "a1, a2"."""
    return ", ".join(n.name for n in nodes)


def count_of(nodes: Sequence[KafkaNode]) -> str:
    """A count for a person: "6 brokers and 3 controllers", or the name where there is one of a kind."""
    parts = []
    for role in ("broker", "controller"):
        some = [n for n in nodes if n.node.role == role]
        if some:
            parts.append(some[0].name if len(some) == 1 else f"{len(some)} {role}s")
    return " and ".join(parts)


def last_error(text: str) -> str:
    """The last line that reports an error (with its exception's message), else the last line, at most 300
    characters.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    exceptions = re.compile(r"^(Caused by: )?[\w.$]+(Exception|Error)\b")
    for index in range(len(lines) - 1, -1, -1):
        if re.search(r"\b(ERROR|FATAL)\b|^Error\b", lines[index]):
            tail = [line for line in lines[index + 1 :] if exceptions.match(line)]
            return " / ".join([lines[index], *tail[-1:]])[:300]
    for line in reversed(lines):
        if exceptions.match(line):
            return line[:300]
    return lines[-1][:300] if lines else ""
