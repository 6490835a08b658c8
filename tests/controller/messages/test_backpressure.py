"""A loop that falls behind holds the wire back, and lets go when it has caught up."""

import asyncio
import time

import pytest
from rig import PATIENCE

from controller.messages import backpressure
from controller.messages.backpressure import Backpressure, HandlingBudget, Load
from wire.limits import MinionLimits
from wire.messages import KeepAlive, RunStarted
from wire.server.types import Gone, Incoming

BUDGET_LIMITS = MinionLimits(handling_share=0.1, handling_burst_seconds=1.0)


class Wire:
    """Remembers whether it reads."""

    def __init__(self):
        self.calls = []
        self.disconnected = []
        self.unread_since = None

    def hold(self):
        self.calls.append("hold")

    def disconnect(self, key, refused_seconds):
        assert refused_seconds == MinionLimits().refused_seconds
        self.disconnected.append(key)

    def resume(self):
        self.calls.append("resume")

    def read_until(self):
        return self.unread_since or time.monotonic()


def alive(key):
    return Incoming(key=key, id=key, message=KeepAlive())


async def test_a_flood_is_held_back_and_let_go(monkeypatch):
    monkeypatch.setattr(backpressure, "HIGH", 10)
    monkeypatch.setattr(backpressure, "LOW", 3)
    handled = []
    inlet, wire = Backpressure(asyncio.get_running_loop()), Wire()
    inlet.attach(wire, handled.extend)
    for number in range(5):
        inlet.put([alive(f"{number}-{at}") for at in range(4)])
    assert wire.calls == ["hold"], "once, and nothing is lost that is read already"
    await until(lambda: len(handled) == 20)
    assert [each.key for each in handled] == [f"{number}-{at}" for number in range(5) for at in range(4)]
    assert wire.calls == ["hold", "resume"]


async def test_one_peer_is_held_back_while_others_are_handled():
    handled, refused = [], []
    inlet = Backpressure(asyncio.get_running_loop(), MinionLimits(queued_messages=50), refused.append)
    wire = Wire()
    inlet.attach(wire, handled.extend)
    inlet.put([alive("flood")] * 40)
    assert wire.calls == []
    inlet.put([alive("flood")] * 40 + [alive("honest")])
    assert wire.calls == ["hold"]
    assert refused == ["queued-messages"]
    await until(lambda: len(handled) == 81)
    assert [each.key for each in handled].index("honest") < 30
    assert wire.calls == ["hold", "resume"]


async def test_large_messages_are_handled_one_by_one_and_held_back_by_their_memory():
    slices, refused = [], []
    inlet = Backpressure(asyncio.get_running_loop(), MinionLimits(), refused.append)
    wire = Wire()
    inlet.attach(wire, lambda batch: slices.append(len(batch)))
    large = [Incoming(key=key, id=key, message=KeepAlive(), size=300_000) for key in "abcdefgh"]
    inlet.put(large[:2])
    assert (wire.calls, refused) == ([], [])
    inlet.put(large[2:])
    assert (wire.calls, refused) == (["hold"], ["queued-bytes"])
    await until(lambda: sum(slices) == 8)
    assert slices == [1] * 8
    assert wire.calls == ["hold", "resume"]


async def test_a_minion_that_makes_most_of_what_waits_is_disconnected_and_nobody_is_held_back():
    handled, refused = [], []
    inlet = Backpressure(asyncio.get_running_loop(), MinionLimits(), refused.append)
    wire = Wire()
    inlet.attach(wire, handled.extend)
    inlet.put(
        [Incoming(key=key, id=key, message=KeepAlive(), size=300_000) for key in ("large", "b", "large", "large")]
    )
    assert (wire.calls, wire.disconnected, refused) == ([], ["large"], ["queued-bytes"])
    await until(lambda: handled)
    assert [each.key for each in handled] == ["b"]


async def test_it_is_behind_while_messages_wait_to_be_read_or_to_be_handled():
    handled = []
    inlet, wire = Backpressure(asyncio.get_running_loop()), Wire()
    inlet.attach(wire, handled.extend)
    wire.unread_since = time.monotonic() - 0.1
    await asyncio.sleep(0.6)
    assert inlet.lag() >= 0.5, "nothing was read since then"
    assert inlet.is_behind()
    wire.unread_since = None
    assert not inlet.is_behind()
    inlet.put([alive("a")])
    time.sleep(0.6)  # the loop handles nothing meanwhile
    assert inlet.is_behind(), "what was read waits to be handled"
    await until(lambda: handled)
    assert not inlet.is_behind()


async def test_other_work_has_its_turn_between_slices(monkeypatch):
    loop = asyncio.get_running_loop()
    slices, turns, computed = [], [], [0.0]
    monkeypatch.setattr(backpressure.time, "thread_time", lambda: computed[0])

    def slow(batch):
        slices.append(len(batch))
        computed[0] += 0.005 * len(batch)

    inlet = Backpressure(loop)
    inlet.attach(Wire(), slow)
    inlet.put([alive(str(at)) for at in range(60)])
    while sum(slices) < 60:
        turns.append(len(slices))
        await asyncio.sleep(0)
    assert max(slices) <= 8
    assert len(set(turns)) >= 6


async def test_a_commit_that_takes_long_makes_slices_no_smaller_than_what_is_sure(monkeypatch):
    loop, slices = asyncio.get_running_loop(), []
    clock, computed = [time.monotonic()], [0.0]
    monkeypatch.setattr(backpressure.time, "thread_time", lambda: computed[0])
    monkeypatch.setattr(backpressure.time, "monotonic", lambda: clock[0])

    def commits(batch):
        slices.append(len(batch))
        clock[0] += 0.5  # a disk that is slow
        computed[0] += 0.001 + 0.00001 * len(batch)

    inlet = Backpressure(loop)
    inlet.attach(Wire(), commits)
    inlet.put([alive(str(at)) for at in range(1000)])
    await until(lambda: sum(slices) == 1000)
    assert set(slices[4:-1]) == {backpressure.SURE}


async def test_a_minion_whose_messages_cost_too_much_waits_and_nobody_else_does(monkeypatch):
    computed = [0.0]
    monkeypatch.setattr(backpressure.time, "thread_time", lambda: computed[0])
    handled = []

    def costly(batch):
        handled.extend(batch)
        computed[0] += 0.02 + sum(0.06 for each in batch if each.key == "costly")

    limits = MinionLimits(handling_share=0.5, handling_burst_seconds=0.1)
    inlet, wire = Backpressure(asyncio.get_running_loop(), limits), Wire()
    inlet.attach(wire, costly)
    large = Incoming(key="costly", id="costly", message=KeepAlive(), size=300_000)
    inlet.put([large] * 3)
    await until(lambda: len(handled) == 2)
    inlet.put([large, alive("honest")])
    await until(lambda: len(handled) == 3)
    assert handled[2].key == "honest"
    await asyncio.sleep(1)
    assert [each.key for each in handled] == ["costly", "costly", "honest", "costly", "costly"], "nothing is lost"
    assert (wire.calls, wire.disconnected) == ([], [])


async def test_a_minion_that_waits_is_disconnected_instead_of_holding_everybody_back(monkeypatch):
    computed = [0.0]
    monkeypatch.setattr(backpressure.time, "thread_time", lambda: computed[0])
    handled, refused = [], []

    def costly(batch):
        handled.extend(batch)
        computed[0] += 5

    inlet = Backpressure(asyncio.get_running_loop(), MinionLimits(), refused.append)
    wire = Wire()
    inlet.attach(wire, costly)
    large = Incoming(key="costly", id="costly", message=KeepAlive(), size=300_000)
    inlet.put([large])
    await until(lambda: handled)
    inlet.put([large] * 3)
    assert wire.disconnected == []
    inlet.put([large] * 3 + [Gone(key="costly"), large])
    assert (wire.calls, wire.disconnected, refused) == ([], ["costly"], ["handling-share"])
    inlet.put([alive("costly")] * 300)
    assert (wire.calls, wire.disconnected) == ([], ["costly", "costly"])
    inlet.put([alive("honest")])
    await until(lambda: len(handled) == 2)
    assert handled[1].key == "honest"


async def until(condition):
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not come about")


async def test_a_closed_loop_takes_nothing_and_raises_nothing():
    loop = asyncio.new_event_loop()
    loop.close()
    Backpressure(loop).put([alive("x")])


def test_a_burst_is_free_and_what_is_beyond_it_is_paid_at_the_share():
    budget = HandlingBudget(BUDGET_LIMITS)
    assert budget.charge("a", 0.6, 100.0) == 0
    assert budget.charge("a", 0.4, 100.0) == 0
    assert round(budget.charge("a", 0.3, 100.0), 6) == 3
    assert budget.charge("b", 0.3, 100.0) == 0, "each minion has its own"
    assert round(budget.charge("a", 0.1, 103.0), 6) == 1


def test_who_costs_little_has_the_burst_again_after_a_while():
    budget = HandlingBudget(BUDGET_LIMITS)
    budget.charge("a", 1.0, 100.0)
    assert budget.charge("a", 1.0, 110.0) == 0
    assert all(budget.charge("c", 0.05, float(second)) == 0 for second in range(1000))


def test_minions_that_owe_nothing_are_forgotten_and_others_are_not(monkeypatch):
    monkeypatch.setattr(backpressure, "_REMEMBERED", 2)
    budget = HandlingBudget(BUDGET_LIMITS)
    budget.charge("debtor", 5.0, 100.0)
    budget.charge("old", 0.001, 100.0)
    budget.charge("new", 0.001, 105.0)
    assert round(budget.charge("debtor", 0.0, 105.0), 6) == 35


async def test_what_comes_soon_after_a_slice_is_handled_together(monkeypatch):
    monkeypatch.setattr(backpressure, "GATHER_SECONDS", 0.2)
    slices = []
    inlet = Backpressure(asyncio.get_running_loop())
    inlet.attach(Wire(), lambda batch: slices.append([each.key for each in batch]))
    inlet.put([alive("first")])
    await until(lambda: slices == [["first"]])
    for key in ("a", "b", "c"):
        inlet.put([alive(key)])
        await asyncio.sleep(0.01)
    await until(lambda: len(slices) == 2)
    assert slices[1] == ["a", "b", "c"]


def test_much_comes_in_one_second_or_the_one_before():
    load = Load()
    load.add(backpressure.MUCH - 1, 10.2)
    assert not load.is_much(10.9)
    load.add(1, 10.95)
    assert load.is_much(10.99)
    assert load.is_much(11.9)
    assert not load.is_much(12.1)
    load.add(backpressure.MUCH, 12.2)
    assert not load.is_much(14.0)


async def test_of_few_minions_each_result_is_handled_at_once(monkeypatch):
    monkeypatch.setattr(backpressure, "CALM_SECONDS", PATIENCE * 10)
    slices = []
    inlet = Backpressure(asyncio.get_running_loop())
    inlet.attach(Wire(), lambda batch: slices.append([each.key for each in batch]))
    for key in ("a", "b", "c"):
        inlet.put([Incoming(key=key, id=key, message=RunStarted(run_id="r"))])
        await until(lambda key=key: slices[-1:] == [[key]])


@pytest.mark.parametrize("hurries", [False, True])
async def test_what_nobody_waits_for_is_gathered_longer_and_not_where_somebody_waits(monkeypatch, hurries):
    monkeypatch.setattr(backpressure, "CALM_SECONDS", 0.2 if not hurries else PATIENCE * 10)
    monkeypatch.setattr(backpressure, "MUCH", 1)
    slices = []
    inlet = Backpressure(asyncio.get_running_loop())
    inlet.attach(Wire(), lambda batch: slices.append([each.key for each in batch]))
    inlet.put([alive("first")])
    await until(lambda: slices == [["first"]])
    for key in ("a", "b", "c"):
        inlet.put([Incoming(key=key, id=key, message=RunStarted(run_id="r"))])
        await asyncio.sleep(0.01)
    if hurries:
        inlet.put([alive("d")])
    await until(lambda: len(slices) == 2)
    assert slices[1] == ["a", "b", "c", *(["d"] if hurries else [])]
