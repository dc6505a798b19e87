"""Cuts for backends without a router between the hosts: each host drops what must not arrive before it leaves.

A routing table of our own leads these addresses to the host's own loopback, where the kernel drops them without a word:
connections stay open and nothing arrives, as with a cut cable. It takes iproute2 and the right to change routes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from harness.common.errors import environment_error
from harness.hosts.host import Output, last_lines
from harness.spec.links import LinkState
from harness.spec.topology import Plan

NUMBER = 7719  # of the routing table, and of the rule that leads to it

_SCRIPT = """ip=ip; [ "$(id -u)" = 0 ] || ip="sudo -n ip"
there=$($ip rule show pref {number}) || exit 1
wanted=" {addresses} "
if [ "$wanted" = "  " ]; then
    [ -z "$there" ] && exit 0
    $ip rule del pref {number} && $ip route flush table {number}; exit
fi
for a in $wanted; do $ip route replace "$a/32" dev lo table {number} || exit 1; done
for a in $($ip route show table {number} | cut -d " " -f 1); do
    case "$wanted" in *" $a "*) ;; *) $ip route del "$a/32" table {number} || exit 1;; esac
done
[ -n "$there" ] || $ip rule add pref {number} lookup {number}"""


def isolated(
    state: LinkState, plan: Plan, addresses: Mapping[str, Sequence[str]], drivers: Iterable[str] = ()
) -> dict[str, list[str]]:
    """By node, the addresses that nothing may be sent to from there. `addresses` are all that a node has, by node;
    `drivers` what a node off the network must not answer either.
    """
    nodes = {n.name: n.rack for n in plan.nodes}
    between = {(x, y) for x, one in nodes.items() for y, other in nodes.items() if (one, other) in state.cuts}
    for name, at in state.isolated.items():
        between |= {pair for y, rack in nodes.items() if rack != at.rack for pair in ((name, y), (y, name))}
    for name in state.disconnected:
        between |= {pair for y in nodes if y != name for pair in ((name, y), (y, name))}
    found = {x: {a for source, y in between if source == x for a in addresses[y]} - set(addresses[x]) for x in nodes}
    for name in state.disconnected:
        found[name] |= set(drivers)
    return {x: sorted(some) for x, some in found.items()}


def script(addresses: Sequence[str]) -> str:
    """The script by which a host sends nothing to these addresses, and again to all others."""
    return _SCRIPT.format(number=NUMBER, addresses=" ".join(addresses))


def enforce(wanted: Mapping[str, Sequence[str]], run: Callable[[str, str], Output]) -> None:
    """Brings all hosts to it side by side; `run` runs a script on the host of a node as one who may change routes.

    Raises RackspanError (exit code 4) if a host does not let us.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(wanted))) as pool:
        answers = list(pool.map(lambda one: (one[0], run(one[0], script(one[1]))), wanted.items()))
    for name, answer in answers:
        if answer.code != 0:
            raise environment_error(
                f"cannot cut {name} off",
                observed=last_lines(answer.err or answer.out) or f"exit code {answer.code}",
                do="let its user change routes: root, or sudo without a password for `ip` (iproute2)",
            )
