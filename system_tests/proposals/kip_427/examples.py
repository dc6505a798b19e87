"""The worked examples of KIP-427 as data, with what the same steps mean for racks.

The seed's brokers 0 to 3 are 1 to 4 here; 1 and 2 are in rack a, 3 in rack b, 4 in rack c. Brokers 1, 2 and 3 fail, in
this order.
"""

from __future__ import annotations

from dataclasses import dataclass

from system_tests.lib import listing

# Categories of a partition; all but OFFLINE are the names of gauges of kafka.cluster:type=Partition.
UNDER_REPLICATED = "UnderReplicated"
AT_MIN_ISR = "AtMinIsr"
UNDER_MIN_ISR = "UnderMinIsr"
AT_RACKS = "AtMinRackIsr"
UNDER_RACKS = "UnderMinRackIsr"
OFFLINE = "Offline"

# The count of each category that a broker keeps over the partitions it leads, and the option that lists them.
COUNTS = {
    UNDER_REPLICATED: "UnderReplicatedPartitions",
    AT_MIN_ISR: "AtMinIsrPartitionCount",
    UNDER_MIN_ISR: "UnderMinIsrPartitionCount",
    AT_RACKS: "AtMinRackIsrPartitionCount",
    UNDER_RACKS: "UnderMinRackIsrPartitionCount",
}
OPTIONS = {
    UNDER_REPLICATED: listing.UNDER_REPLICATED,
    AT_MIN_ISR: listing.AT_MIN_ISR,
    UNDER_MIN_ISR: listing.UNDER_MIN_ISR,
    AT_RACKS: listing.AT_MIN_RACKS,
    UNDER_RACKS: listing.UNDER_MIN_RACKS,
    OFFLINE: listing.UNAVAILABLE,
}


@dataclass(frozen=True)
class State:
    """A partition between two failures: its in-sync replicas, the racks they are in, its categories."""

    isr: tuple[int, ...]
    racks: int
    categories: frozenset[str]


@dataclass(frozen=True)
class Example:
    """A topic of one partition; `states` after 0, 1, 2 and 3 failed brokers."""

    topic: str
    replicas: tuple[int, ...]
    min_replicas: int
    min_racks: int
    states: tuple[State, ...]

    def listed(self, step: int) -> frozenset[str]:
        """Categories under which kafka-topics.sh lists it.

        The gauges are the leader's. The tool also says of a partition that has none what it lacks.
        """
        categories = self.states[step].categories
        if OFFLINE not in categories:
            return categories
        lacks = {UNDER_REPLICATED, UNDER_MIN_ISR} | ({UNDER_RACKS} if self.min_racks > 1 else set())
        return categories | lacks


def _state(isr: tuple[int, ...], racks: int, *categories: str) -> State:
    return State(isr, racks, frozenset(categories))


_OFFLINE = _state((), 0, OFFLINE)

EXAMPLES = (
    # Example 1: AtMinIsr is the same as UnderReplicated. The third failure is not in the seed.
    Example(
        "one",
        (1, 2, 3),
        min_replicas=2,
        min_racks=2,
        states=(
            _state((1, 2, 3), 2, AT_RACKS),
            _state((2, 3), 2, UNDER_REPLICATED, AT_MIN_ISR, AT_RACKS),
            _state((3,), 1, UNDER_REPLICATED, UNDER_MIN_ISR, UNDER_RACKS),
            _OFFLINE,
        ),
    ),
    # Example 2: AtMinIsr when one in-sync replica is left. No racks are required: nothing is listed for them.
    Example(
        "two",
        (1, 2, 3),
        min_replicas=1,
        min_racks=1,
        states=(
            _state((1, 2, 3), 2),
            _state((2, 3), 2, UNDER_REPLICATED),
            _state((3,), 1, UNDER_REPLICATED, AT_MIN_ISR),
            _OFFLINE,
        ),
    ),
    # The same with two racks: enough replicas for the topic when the racks are too few.
    Example(
        "two-racks",
        (1, 2, 3),
        min_replicas=1,
        min_racks=2,
        states=(
            _state((1, 2, 3), 2, AT_RACKS),
            _state((2, 3), 2, UNDER_REPLICATED, AT_RACKS),
            _state((3,), 1, UNDER_REPLICATED, AT_MIN_ISR, UNDER_RACKS),
            _OFFLINE,
        ),
    ),
    # Example 3: UnderReplicated from the first failure on, AtMinIsr after the second.
    Example(
        "three",
        (1, 2, 3, 4),
        min_replicas=2,
        min_racks=2,
        states=(
            _state((1, 2, 3, 4), 3),
            _state((2, 3, 4), 3, UNDER_REPLICATED),
            _state((3, 4), 2, UNDER_REPLICATED, AT_MIN_ISR, AT_RACKS),
            _state((4,), 1, UNDER_REPLICATED, UNDER_MIN_ISR, UNDER_RACKS),
        ),
    ),
)
