"""Links between racks as values: units, pairs, invalid links, and the packet filter that follows from them."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.errors import RackspanError
from harness.spec.cluster_spec import parse
from harness.spec.links import At, Link, LinkState, SlowHost, bits, milliseconds, pair_of, queues, resolve, rules, share

RACKS = ["a", "b", "c"]
pairs = st.lists(st.sampled_from(list(permutations(RACKS, 2))), unique=True)


def link(rtt: str) -> Link:
    return Link(rtt=rtt)  # type: ignore[call-arg]


def test_durations_and_percentages_have_units() -> None:
    assert (milliseconds("2ms"), milliseconds("500us"), milliseconds("1.5s")) == (2, 0.5, 1500)
    assert (share("0.5%"), share("100%")) == (0.005, 1)
    for read, text in (
        (milliseconds, "2"),
        (milliseconds, "-1ms"),
        (milliseconds, "11s"),
        (share, "5"),
        (share, "101%"),
    ):
        with pytest.raises(ValueError, match=r"unit|more than 10s|as a share"):
            read(text)


def test_each_way_takes_half_of_the_round_trip() -> None:
    assert Link(rtt="3ms", jitter="1ms", loss="2%").one_way() == (1_500_000, 500_000, 0.02)


def test_pairs_are_found_in_any_order_and_with_dashes_in_names() -> None:
    assert pair_of("b-a", RACKS) == pair_of("a,b", RACKS) == ("a", "b")
    assert pair_of("zone-1-zone-2", ["zone-1", "zone-2"]) == ("zone-1", "zone-2")
    with pytest.raises(ValueError, match="'a-b-c' can be read in two ways; write it with a comma"):
        pair_of("a-b-c", ["a", "b-c", "a-b", "c"])
    for text in ("a", "a-a", "a-z"):
        with pytest.raises(ValueError, match=f"'{text}' is no pair of racks; racks: a, b, c, as in a-b"):
            pair_of(text, RACKS)


def test_a_default_is_for_the_pairs_that_are_not_named() -> None:
    found = resolve({"default": link("2ms"), "c-a": link("20ms")}, RACKS)
    assert {pair: one.rtt for pair, one in found.items()} == {"a-b": "2ms", "a-c": "20ms", "b-c": "2ms"}
    assert resolve({}, RACKS) == {}
    with pytest.raises(ValueError, match="'b-a' is named twice"):
        resolve({"a-b": link("2ms"), "b-a": link("2ms")}, RACKS)


def test_only_delayed_pairs_are_queued_and_cuts_come_first() -> None:
    state = LinkState(racks=RACKS, links={"a-c": link("2ms")}, cuts=[("c", "a")])
    assert [line for line in rules(state).splitlines() if line.startswith("-A")] == [
        "-A FORWARD -i rack3 -o rack1 -j DROP",
        "-A FORWARD -i rack1 -o rack3 -j NFQUEUE --queue-num 1 --queue-bypass",
        "-A FORWARD -i rack3 -o rack1 -j NFQUEUE --queue-num 1 --queue-bypass",
    ]
    assert list(queues(state)) == [(1, 1_000_000, 0, 0.0)]


def test_a_node_is_cut_off_and_slowed_by_its_address() -> None:
    isolated = {"b1": At(rack="b", address="198.18.2.1")}
    slow = {"b1": SlowHost(rack="b", address="198.18.2.1", rtt="6ms", number=1)}
    state = LinkState(racks=RACKS, links={"a-b": link("2ms")}, isolated=isolated, slow=slow)
    found = [line for line in rules(state).splitlines() if line.startswith("-A")]
    assert found[:2] == [
        "-A FORWARD -i rack2 ! -o rack2 -s 198.18.2.1 -j DROP",
        "-A FORWARD ! -i rack2 -o rack2 -d 198.18.2.1 -j DROP",
    ]
    queue = "-j NFQUEUE --queue-num {} --queue-bypass"
    assert found[2:8] == [
        f"-A FORWARD -i rack2 -o rack1 -s 198.18.2.1 {queue.format(6)}",
        f"-A FORWARD -i rack1 -o rack2 -d 198.18.2.1 {queue.format(6)}",
        f"-A OUTPUT -o rack2 -d 198.18.2.1 {queue.format(7)}",
        f"-A INPUT -i rack2 -s 198.18.2.1 {queue.format(7)}",
        f"-A FORWARD -i rack2 -o rack3 -s 198.18.2.1 {queue.format(8)}",
        f"-A FORWARD -i rack3 -o rack2 -d 198.18.2.1 {queue.format(8)}",
    ]
    assert "queue-num 0" in found[8], "the pair itself comes behind: the first rule that fits counts"
    times = {number: delay for number, delay, _, _ in queues(state)}
    assert times == {0: 1_000_000, 6: 4_000_000, 7: 3_000_000, 8: 3_000_000}


def test_bandwidths_have_units() -> None:
    assert (bits("10mbit"), bits("8kbit"), bits("1.5gbit")) == (10_000_000, 8_000, 1_500_000_000)
    for text in ("10", "10mb", "1kbit", "-1mbit", "200gbit", ""):
        with pytest.raises(ValueError, match=f"cannot read '{text}' as a bandwidth with unit from 8kbit to 100gbit"):
            bits(text)


@given(pairs, st.dictionaries(st.sampled_from(["a-b", "a-c", "b-c"]), st.sampled_from(["0ms", "1ms", "9ms"])))
def test_the_filter_drops_exactly_the_cuts_and_queues_exactly_the_delays(
    cuts: list[tuple[str, str]], delays: dict[str, str]
) -> None:
    state = LinkState(racks=RACKS, links={pair: link(rtt) for pair, rtt in delays.items()}, cuts=cuts)
    dropped: set[tuple[str, str]] = set()
    queued: set[tuple[str, str]] = set()
    for words in (line.split() for line in rules(state).splitlines() if line.startswith("-A")):
        pair = (RACKS[int(words[3][4:]) - 1], RACKS[int(words[5][4:]) - 1])
        (dropped if words[7] == "DROP" else queued).add(pair)
    assert dropped == set(cuts)
    assert queued == {p for p in permutations(RACKS, 2) if milliseconds(state.link(*p).rtt) > 0}


def test_invalid_links_in_a_spec_are_named() -> None:
    with pytest.raises(RackspanError) as e:
        parse({"racks": "a:1,b:1", "backend": "netns", "links": {"a-b": {"rrt": "2ms"}}})
    assert "links.a-b: no key 'rrt'; did you mean 'rtt'?" in e.value.observed
    with pytest.raises(RackspanError) as e:
        parse({"racks": "a:1,b:1", "backend": "netns", "links": {"a-b": "2"}})
    assert "links.a-b.rtt: cannot read '2' as a time with unit, as in 2ms, 500us, 1s" in e.value.observed
    assert parse({"racks": "a:1,b:1", "backend": "netns", "links": {"a-b": "2ms"}}).links["a-b"].ms == 2
