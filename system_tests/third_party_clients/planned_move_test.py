"""Every client with acks=all on topics with acks.all.scope=min.insync.replicas, through a planned move of their leader
while the in-sync follower that comes next lags: docs/reference/acks.md. At level 2 of rackspan.version nothing that was
acknowledged is lost; at level 1 each client loses records.
"""

from __future__ import annotations

from functools import partial

from harness.common.wait import Pending, wait_for
from harness.ducktape_support.kafka_service import KafkaRacks
from harness.ducktape_support.reuse import last_of_its_cluster
from harness.faults.process import nodes_down
from harness.spec.rackspan_level import at_level
from system_tests.lib import acks, expect
from system_tests.lib.base import RackTest
from system_tests.third_party_clients import outcomes
from system_tests.third_party_clients.client_group import ClientGroup, Producers, violations, wait_each

SCENE = "moved"
LEADER, LAGGING, COMPLETE = 1, 3, 2
ORDER = [[LEADER, LAGGING, COMPLETE]]
LIMIT_S = 300.0  # how long a client may try for a record
RATE = 5.0
EXPOSED = 20  # records that each client has acknowledged while the follower lags


class ClientsMoved(RackTest):
    """Each client has a topic with replicas 1, 3, 2: broker 1 leads and is shut down while 3 is paused in sync."""

    @last_of_its_cluster
    def test_nothing_is_lost_at_level_2(self) -> None:
        """Each acknowledged record is in the log, once if the client is idempotent by default."""
        results, leaders = self.move(2)
        assert set(leaders.values()) == {COMPLETE}, f"not led by the follower that has everything: {leaders}"
        assert not any(r.violations for r in results), violations(results)

    @last_of_its_cluster
    def test_each_loses_at_level_1(self) -> None:
        """The control: the follower that lagged leads, and what clients had acknowledged meanwhile is gone."""
        results, leaders = self.move(1)
        assert set(leaders.values()) == {LAGGING}, f"not led by the follower that lagged: {leaders}"
        spared = [r.title for r in results if not r.skip_reason and not r.numbers[outcomes.MOVED_LOST]]
        assert not spared, f"nothing was lost, so nothing is shown, by {spared}"

    def move(self, level: int) -> tuple[list[outcomes.ClientResult], dict[str, int]]:
        """Results of the clients on a cluster at that level, and the leader of each topic after the move."""
        spec = self.spec("a:2,b:1,c:1", settings=acks.LASTING, **at_level(level))
        with self.racks(spec, [expect.OVERTAKEN], shared=False) as kafka:
            group = ClientGroup(self, kafka)
            group.create(SCENE, ORDER, min_insync_replicas=2, acks_all_scope=acks.QUORUM)
            producers = group.produce(SCENE, 1, LIMIT_S, RATE)
            wait_each("every client to be served", producers, lambda _, a: len(a.ok) >= 10, LIMIT_S)
            leaders = self.leader_moves(kafka, group, producers)
            moved_ns = self.run.event("note", "after the move", "point", {"leaders": leaders})
            wait_each("every client to be served again", producers, lambda _, a: len(a.due(moved_ns).ok) >= 5, LIMIT_S)
            for key, reported in group.finish(SCENE, producers, LIMIT_S + outcomes.GRACE_S).items():
                outcomes.planned_move(group.results[key], reported, self.read(kafka, group.topics(SCENE)[key]))
        results = group.evaluated()
        lost = {r.key: r.numbers.get(outcomes.MOVED_LOST) for r in results}
        self.run.event("note", f"level {level}", "point", {"lost": lost, "leaders": leaders})
        self.logger.info("level %s: lost %s, led by %s", level, lost, leaders)
        return results, leaders

    def leader_moves(self, kafka: KafkaRacks, group: ClientGroup, producers: Producers) -> dict[str, int]:
        """The follower is paused, each client has records acknowledged without it, and the leader is shut down. Returns
        who leads each topic then.
        """
        topics = group.topics(SCENE).values()
        with nodes_down(kafka.kafka, "b1", how="pause", events=self.run):
            risky = self.run.event("note", "lag", "point", {"paused": LAGGING})
            wait_each("records to be exposed", producers, lambda _, a: len(a.due(risky).ok) >= EXPOSED, LIMIT_S)
            above = {topic: kafka.metric(acks.ABOVE_PARTITION, topic=topic) for topic in topics}
            assert min(above.values()) > 0, f"the paused follower lacks nothing: {above}"
            # The controller hands over at once; the process ends only when no broker lags behind with metadata.
            kafka.node("a1").terminate()
            for topic in topics:
                wait_for(f"broker 1 to lead {topic} no more", partial(acks.follows, kafka, "a1", topic), 60)
        kafka.kafka.stop("a1", seconds=90)
        return wait_for("all topics to be led by another broker", partial(led, kafka), 60)


def led(kafka: KafkaRacks) -> dict[str, int] | Pending:
    """The leader of each topic, once none is that which ended."""
    leaders = {p.topic: p.leader for p in kafka.kafka.view().partitions if p.topic.startswith(SCENE)}
    return leaders if set(leaders.values()) <= {LAGGING, COMPLETE} else Pending(f"led by {leaders}")
