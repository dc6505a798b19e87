"""Acknowledgements given while too few racks or replicas were in sync.

A leader hears of a change after the controller has written it, so the time of an acknowledgement alone says little
about the first moments of a stretch. These say that the leader knew:

- the record is of a leader epoch that began in the stretch: such a leader starts with the state of its election;
- a record sent in the stretch had been refused for the same reason before this one was sent;
- the leader had added a replica in the stretch, for which it must name the state before;
- three seconds had passed.

The end needs no such margin: nobody can act on a state before it is written. A record was appended after every record
before it in the log had been sent, whatever its own client's times say.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from spark_analysis.checker.columns import Array, Rows, among
from spark_analysis.checker.facts import SHORTAGE, Facts, Place, Stretch
from spark_analysis.checker.findings import Findings
from spark_analysis.checker.timeline import CLOCK_NS, NEVER

Where = tuple[str, Place, int]  # rule, place, number of its stretch


@dataclass
class Unsure:
    """Acknowledgements of one stretch that a refusal elsewhere may show to be wrong, and the first refusal here."""

    refused_ns: int = NEVER
    acks: list[tuple[Array, Array, Array, list[str], Array]] = field(default_factory=list)

    def merge(self, other: Unsure) -> None:
        """Takes in those of another part."""
        self.refused_ns = min(self.refused_ns, other.refused_ns)
        self.acks += other.acks


@dataclass(frozen=True)
class Sends:
    """Sends to one partition: `after_ns` is a time after which the record was appended, `epoch` that of the log or -1.

    `results`: names by the codes of `acks["result"]`, or empty where all were acknowledged.
    """

    acks: Rows
    after_ns: Array
    epoch: Array
    offset: Array
    results: list[str]

    def answered(self, *results: str) -> Array:
        """Those with one of these results."""
        if not self.results:
            return np.full(self.acks.size, "OK" in results)
        return among(self.acks["result"], self.results, results)


def check_sends(sends: Sends, place: Place, facts: Facts, found: Findings) -> dict[Where, Unsure]:
    """Adds the acknowledgements that are certainly wrong; returns those that are not certain, by stretch."""
    left: dict[Where, Unsure] = {}
    for rule, refusals in SHORTAGE.items():
        stretches = facts.short.get(rule, {}).get(place, ())
        for number, stretch in enumerate(stretches):
            one = _check(sends, place, facts, found, rule, stretch, sends.answered(*refusals))
            if one.acks or one.refused_ns < NEVER:
                left[rule, place, number] = one
    return left


def _check(
    sends: Sends, place: Place, facts: Facts, found: Findings, rule: str, stretch: Stretch, refused: Array
) -> Unsure:
    acks, ok = sends.acks, sends.answered("OK")
    waits = facts.settings(acks.names["producer"])["waits"][acks["producer"]]
    sent, done = acks["sent_ns"], acks["done_ns"]
    within = ok & waits & (done < stretch.end_ns - CLOCK_NS)
    knew = (sends.after_ns > stretch.sure_ns + CLOCK_NS) | (sends.epoch >= stretch.epoch)
    wrong = np.flatnonzero(within & knew)
    found.exposure[rule] += len(wrong)
    if rule == "ack-not-in-ledger":
        wrong = wrong[~facts.in_ledger(place, sends.offset[wrong])]
    else:
        begun = (sent >= stretch.begin_ns) & (sent < stretch.end_ns)
        found.exposure[rule] += int((waits & begun & ~(ok & (done < stretch.end_ns))).sum())
    _add(
        found,
        rule,
        place,
        stretch,
        sends.offset[wrong],
        acks["producer"][wrong],
        acks.names["producer"],
        acks["seq"][wrong],
    )
    here = refused & (sent > stretch.begin_ns) & (done < stretch.end_ns)
    unsure = np.flatnonzero(within & ~knew & (sends.after_ns > stretch.begin_ns))
    left = Unsure(int(done[here].min()) if here.any() else NEVER)
    if len(unsure):
        codes, names = acks["producer"][unsure], acks.names["producer"]
        left.acks.append((sends.after_ns[unsure], sends.offset[unsure], codes, names, acks["seq"][unsure]))
    return left


def decide(left: dict[Where, Unsure], facts: Facts) -> Findings:
    """The acknowledgements of records that were sent after another had been refused in the same stretch; the others
    are tolerated, and counted.
    """
    found = Findings()
    for (rule, place, number), unsure in left.items():
        stretch = facts.short[rule][place][number]
        for after_ns, offset, codes, names, seq in unsure.acks:
            wrong = after_ns > unsure.refused_ns
            found.exposure[rule] += int(wrong.sum())
            known = wrong | facts.in_ledger(place, offset) if rule == "ack-not-in-ledger" else wrong
            found.tolerated[rule] += int((~known).sum())
            _add(found, rule, place, stretch, offset[wrong], codes[wrong], names, seq[wrong])
    return found


def _add(
    found: Findings,
    rule: str,
    place: Place,
    stretch: Stretch,
    offset: Array,
    codes: Array,
    names: list[str],
    seq: Array,
) -> None:
    found.add(
        rule,
        *place,
        offset,
        lambda _: f"the in-sync replicas were {stretch.isr}",
        producers=lambda i: names[codes[i]],
        seqs=seq,
    )
