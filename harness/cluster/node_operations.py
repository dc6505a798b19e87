"""Operations on nodes of a cluster: start, stop, kill, pause, resume, another distribution."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from harness.backends.base import Backend
from harness.cluster.members import Members
from harness.cluster.node import KafkaNode, count_of, names_of, wait_gone
from harness.cluster.waits import wait_ready
from harness.common.errors import usage_error
from harness.distribution.locate import find
from harness.hosts.host import Capability, ProcessState
from harness.spec.cluster_spec import NodeOverride

STOP_SECONDS = 40.0


def start(members: Members, chosen: Sequence[KafkaNode], seconds: float) -> None:
    """Starts nodes and waits until they are ready. Raises RackspanError."""
    know_jvm(chosen)
    with members.progress.step(f"{count_of(chosen)} started"):
        members.each(chosen, KafkaNode.start)
    wait_ready(members, [n.name for n in chosen], seconds)


def stop(members: Members, chosen: Sequence[KafkaNode], seconds: float) -> None:
    """Shuts nodes down cleanly: brokers first, since their shutdown needs the controllers. Raises WaitTimeout."""
    members.want(chosen, "stopped")
    for role in ("broker", "controller"):
        some = [n for n in chosen if n.node.role == role]
        if some:
            with members.progress.step(f"{names_of(some)} stopped"):
                for n in some:
                    n.terminate()
                wait_gone(some, seconds, do="`rackspan kill` ends them at once")


def kill(members: Members, chosen: Sequence[KafkaNode]) -> None:
    """Ends nodes at once, as a crash does (kill -9)."""
    members.want([n for n in chosen if n.look()[1] is not ProcessState.GONE], "crashed")
    with members.progress.step(f"{names_of(chosen)} killed"):
        for n in chosen:  # all signals first: a rack dies at one moment
            n.signal(signal.SIGKILL)
        wait_gone(chosen, STOP_SECONDS, do="see whether they hang in the kernel: state D in `ps`")


def pause(chosen: Sequence[KafkaNode]) -> None:
    """Pauses nodes; their connections stay open. Raises RackspanError if one does not run."""
    for n in chosen:  # all signals first: a rack hangs at one moment
        n.signal(signal.SIGSTOP)
    for n in chosen:
        n.pause()


def resume(chosen: Sequence[KafkaNode]) -> None:
    """Lets paused nodes continue. Raises RackspanError if one does not run."""
    for n in chosen:
        n.resume()


def change_distribution(members: Members, chosen: Sequence[KafkaNode], distribution: str) -> list[KafkaNode]:
    """Records the distribution of nodes, brings it to their hosts, and returns the nodes as they are with it.

    Raises RackspanError, also if one of them runs.
    """
    find(distribution)
    running = [n for n in chosen if n.look()[1] is not ProcessState.GONE]
    if running:
        raise usage_error(
            f"cannot change the distribution of {names_of(running)}",
            observed="the process is there",
            do=f"stop it first: `rackspan stop {' '.join(n.name for n in running)}`",
        )
    spec = members.state.spec
    overrides = dict(spec.nodes)
    for n in chosen:
        old = overrides.get(n.name, NodeOverride())  # type: ignore[call-arg]
        overrides[n.name] = old.model_copy(update={"distribution": distribution})
    members.respec(spec.model_copy(update={"nodes": overrides}))
    members.save()
    _install(members)
    return [members.node(n.name) for n in chosen]


def make_network(members: Members) -> None:
    """Makes what the hosts need, and checks the delays between racks, which every run depends on.

    Raises RackspanError.
    """
    backend: Backend = members.backend
    if Capability.DELAY not in backend.capabilities:
        backend.bring_up(members.plan)
        _install(members)
        return
    with members.progress.step(f"network of {len(members.plan.nodes)} hosts made") as update:
        backend.bring_up(members.plan)
        for link in backend.links(members.plan).check():
            update(str(link))


def know_jvm(nodes: Sequence[KafkaNode]) -> None:
    """Has the flags of all nodes worked out before threads need them: that may take a run of a node."""
    for n in nodes:
        n.jvm()


def _install(members: Members) -> None:
    wanted = {n.name: members.distribution_of(n) for n in members.plan.nodes}
    if any(members.backend.placed(name, own) != own for name, own in wanted.items()):
        with members.progress.step("distribution on the hosts"):
            members.backend.install(wanted)
