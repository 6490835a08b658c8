"""Peers are served in turn, by messages and by bytes."""

from __future__ import annotations

from wire.limits import MinionLimits
from wire.messages import KeepAlive
from wire.server.fair_queue import BYTES_OF_ONE, QUANTUM, FairQueue
from wire.server.types import Gone, Incoming, Refusal


def message(key, size=10):
    return Incoming(key=key, id=key, message=KeepAlive(), size=size)


def test_a_flood_of_one_peer_lets_others_through():
    queue = FairQueue()
    assert queue.put([message("flood") for _ in range(1000)]) == 1000
    assert queue.put([message("a"), message("b")]) == 1
    taken = [each.key for each in queue.take(QUANTUM + 2)]
    assert taken == ["flood"] * QUANTUM + ["a", "b"]
    assert (len(queue), queue.longest()) == (1000 - QUANTUM, 1000 - QUANTUM)


def test_large_messages_count_for_more():
    queue = FairQueue()
    queue.put([message("large", 8 * QUANTUM * BYTES_OF_ONE) for _ in range(3)])
    queue.put([message("small") for _ in range(100)])
    taken = [each.key for each in queue.take(1 + QUANTUM + 1 + QUANTUM)]
    assert taken.count("large") <= 2
    assert taken[1 : 1 + QUANTUM] == ["small"] * QUANTUM


def test_memory_is_counted_as_messages_may_take_it_decoded():
    queue = FairQueue()
    queue.put([message("a", 300_000) for _ in range(4)] + [message("b", 100)])
    assert queue.memory == 4 * 300_000 * 65 + 100 * 65
    assert len(queue.take(100, memory=1)) == 1, "however large it is"
    assert len(queue.take(100, memory=300_000 * 65 + 1)) in (2, 3)
    queue.take(100)
    assert (queue.memory, len(queue)) == (0, 0)


def test_what_is_of_one_peer_stays_in_its_order():
    queue = FairQueue()
    deliveries = [message("a", 1), Refusal(reason="malformed", key="a"), message("a", 2), Gone(key="a")]
    queue.put(deliveries)
    queue.put([Refusal(reason="overflow")])
    assert [each for each in queue.take(100) if each.key == "a"] == deliveries
    assert len(queue) == queue.longest() == 0
    assert queue.take(5) == []


def test_a_parked_peer_waits_with_all_that_it_sends():
    queue = FairQueue()
    queue.put([message("a"), message("b"), message("a")])
    queue.park("a")
    assert queue.put([message("a")] * 5 + [message("c")]) == 1
    assert (len(queue), queue.longest(), queue.memory) == (2, 1, 2 * 10 * 65)
    assert [each.key for each in queue.take(100)] == ["b", "c"]
    queue.unpark("a")
    assert (len(queue), queue.memory) == (7, 7 * 10 * 65)
    assert [each.key for each in queue.take(100)] == ["a"] * 7
    assert (len(queue), queue.memory) == (0, 0)


def test_a_peer_with_several_messages_and_most_of_the_memory_loses_them():
    queue = FairQueue(MinionLimits(queued_bytes=100_000 * 65))
    queue.put([message("one", 90_000), message("even", 20_000), message("even", 29_000), message("small")])
    assert queue.drop_excess() == [], "nobody has several that are more than half of the limit"
    queue.put([message("even", 2_000), Gone(key="even"), message("small")])
    assert queue.drop_excess() == ["even"]
    assert (len(queue), queue.memory) == (4, (90_000 + 10 + 10) * 65)
    assert Gone(key="even") in queue.take(100)
    assert (len(queue), queue.memory) == (0, 0)


def test_parked_peers_lose_their_messages_the_largest_first_and_are_gone_nevertheless():
    queue = FairQueue(MinionLimits(queued_messages=3, queued_bytes=100_000 * 65))
    for key in ("many", "large", "small"):
        queue.park(key)
    queue.put([message("many")] * 3 + [message("large", 60_000), message("small", 20_000)])
    assert queue.drop_excess() == []
    queue.put([message("many"), message("large", 30_000), Gone(key="large")])
    assert queue.drop_excess() == ["many", "large"]
    assert queue.drop_excess() == []
    for key in ("many", "large", "small"):
        queue.unpark(key)
    assert queue.take(100) == [Gone(key="large"), message("small", 20_000)]
