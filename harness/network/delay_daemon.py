"""First process of the hosts of one cluster: makes their network, keeps the links between racks as requested, and takes
all of it along when it ends.

    unshare --pid --fork --kill-child python -m harness.network.delay_daemon FOLDER [LIVENESS_PIPE]

It runs in a pid namespace of its own, so that its end, however it comes, ends all processes on the hosts; the networks
go with the last of them. LIVENESS_PIPE is a file descriptor: its end of file ends the delay daemon, a byte on it lets
it outlive the other end. On SIGHUP it takes over the links file and answers in the file of applied links.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from harness.common.atomic_files import write_aside
from harness.common.errors import RackspanError
from harness.common.process_tree import identity
from harness.hosts.host import last_lines
from harness.network import bridges, link_files
from harness.network.iptables import PacketFilter
from harness.network.nfqueue import DelayQueues
from harness.spec.cluster_state import load
from harness.spec.links import LinkState, queues, rules
from harness.spec.topology import Plan, plan


class DelayDaemon:
    """Queues of delayed packets and the packet filter that feeds them."""

    def __init__(self, folder: Path, liveness_pipe: int | None, cluster: Plan, networks: dict[str, int]) -> None:
        self.folder = folder
        self.liveness_pipe = liveness_pipe
        self.plan = cluster
        self.networks = networks
        self.bandwidth_limits: dict[str, str] = {}
        self.queues = DelayQueues()
        self.filter = PacketFilter(folder / "links.rules")
        self.rules = ""
        self.version = 0
        self.job: subprocess.Popen[str] | None = None  # sets the filter while packets are still delayed
        self.wake, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda number, frame: None)

    def run(self) -> None:
        """Serves until the liveness pipe ends."""
        self.reload()
        while True:
            wait = self.queues.release()
            watched = [
                self.queues.socket.fileno(),
                self.wake,
                *([] if self.liveness_pipe is None else [self.liveness_pipe]),
            ]
            ready, _, _ = select.select(watched, [], [], wait)
            if self.queues.socket.fileno() in ready:
                self.queues.receive()
            if self.wake in ready:
                numbers = os.read(self.wake, 4096)
                self.reap()
                if signal.SIGHUP in numbers:
                    self.reload()
            if self.liveness_pipe is not None and self.liveness_pipe in ready:
                if not os.read(self.liveness_pipe, 1):
                    return
                os.close(self.liveness_pipe)
                self.liveness_pipe = None

    def reload(self) -> None:
        """Takes over the links file: delays at once, the filter by a program that runs alongside."""
        state = LinkState.model_validate_json((self.folder / link_files.LINKS).read_text(encoding="utf-8"))
        self.version = state.version
        self.queues.early = state.early_ns
        for number, delay, jitter, loss in queues(state):
            self.queues.set(number, delay, jitter, loss)
        bridges.set_connected(self.plan, set(state.disconnected))
        if state.bandwidth_limits != self.bandwidth_limits:
            bridges.shape(self.plan, self.networks, state.bandwidth_limits)
            self.bandwidth_limits = state.bandwidth_limits
        wanted = rules(state)
        if wanted == self.rules:
            self._answer("")
            return
        self.rules = wanted
        self.job = self.filter.start(wanted)

    def reap(self) -> None:
        """Takes note of the ends of children, and of orphans of the hosts, which come here."""
        if self.job is not None and self.job.poll() is not None:
            _, error = self.job.communicate()
            failed = self.job.returncode != 0
            self.job = None
            self._answer(f"{self.filter.program}: {last_lines(error)}" if failed else "")
        with suppress(ChildProcessError):
            while self.job is None and os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def _answer(self, error: str) -> None:
        write_aside(self.folder / link_files.APPLIED, json.dumps({"version": self.version, "error": error}))


def main() -> int:
    """Builds the network, announces it, serves; prints on standard error why it cannot be built."""
    folder = Path(sys.argv[1])
    liveness_pipe = int(sys.argv[2]) if len(sys.argv) > 2 else None
    state = load(folder)
    assert state is not None, f"no cluster in {folder}"
    try:
        cluster = plan(state.spec, state.block)
        networks = bridges.build(cluster)
        daemon = DelayDaemon(folder, liveness_pipe, cluster, networks)
    except RackspanError as e:
        print(e.brief, file=sys.stderr)
        return 1
    except OSError as e:
        print(f"the network of the cluster cannot be made: {e}", file=sys.stderr)
        return 1
    with suppress(PermissionError):  # delays hold on a busy machine too
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    pid, started = identity()
    write_aside(folder / link_files.DAEMON, json.dumps({"pid": pid, "started": started, "networks": networks}))
    daemon.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
