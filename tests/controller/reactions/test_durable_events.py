"""Durable events are on disk before anybody sees them, and all answered, in their order, by however slow a reactor."""

import asyncio

import pytest

from controller.observe.event_log import EventLog
from controller.reactions.durable_events import SLS_FIRED, DurableEvents
from controller.store import Store, StoreUnavailable
from controller.store.events import Events
from reactors.bus import Bus, QueueBounds
from wire.limits import MinionLimits

STORM, MINIONS = 100_000, 100


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        yield store


def make_bus(store, *, refused=None, events=10 * STORM, waiting=1000):
    bus = Bus(lambda: 1.0, last=store.events.last_id(), bounds=QueueBounds(events=waiting))
    bus.is_durable = lambda tag: tag.startswith("own/")
    counted = refused if refused is not None else []
    return bus, EventLog(store, bus, lambda: 1.0, MinionLimits(events=events), counted.append)


async def answered(store, answer, count):
    """Answer until nothing is left."""
    durable = DurableEvents(table=store.events)
    seen = []

    async def noted(event, done):
        await answer(event, done)
        seen.append(event)

    task = asyncio.create_task(durable.answer_all(noted))
    durable.look(trees=True)
    while len(seen) < count and not task.done():
        await asyncio.sleep(0.01)
    while store.events.unanswered(1) and not task.done():
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    return seen


async def test_a_durable_event_is_on_disk_before_a_subscriber_has_it(store):
    bus, log = make_bus(store)
    kept = []

    def on_disk(event):
        kept.append(store.events.get(event.id))
        return True

    with bus.subscribe_to(on_disk):
        durable, other = bus.publish("own/a", {"id": "web1"}), bus.publish("others/a", {"id": "web1"})
    assert [kept[0].tag, kept[1]] == ["own/a", None]
    await log.flush()
    assert [store.events.get(each.id).durable for each in (durable, other)] == [True, False]


async def test_of_a_storm_all_durable_events_are_answered_in_the_order_of_each_minion(store):
    bus, log = make_bus(store)
    with bus.subscribe("own/*") as slow:
        for _ in range(STORM // 1000):
            with store.transaction():
                events = [bus.make("own/x", {"id": f"web{at % MINIONS}", "text": "x" * 100}) for at in range(1000)]
                log.keep_now(events)
            for event in events:
                bus.deliver(event)
            await log.flush()
        assert slow.dropped > STORM // 2, "a reader in memory lost most"

    async def answer(event, done):
        assert not done

    seen = await answered(store, answer, STORM)
    assert [event.id for event in seen] == list(range(1, STORM + 1))
    store.events.prune(0.0, 10)
    assert store.events.get(1) is not None, "what is too much of others takes no durable one"
    assert store.events.prune_durable(STORM - 5) == 5
    assert [store.events.get(number) is None for number in (5, 6)] == [True, False]


async def test_what_has_fired_before_the_controller_ended_does_not_fire_again(store):
    bus, log = make_bus(store)
    first, second, third = (bus.publish("own/x", {"id": "web1"}) for _ in range(3))
    bus.publish("saltern/reaction/1/new", {"rule": "page"}, cause=first.id)
    bus.publish("saltern/reaction/2/new", {"sls": ["a.sls"]}, cause=second.id)
    bus.publish("saltern/reaction/3/ret", {}, cause=third.id)
    await log.flush()
    found = {}

    async def answer(event, done):
        found[event.id] = done

    await answered(store, answer, 3)
    assert found == {first.id: {"page"}, second.id: {SLS_FIRED}, third.id: frozenset()}


async def test_one_that_cannot_be_kept_is_passed_on_and_is_not_durable(store, monkeypatch):
    refused = []
    bus, log = make_bus(store, refused=refused, events=2)
    with bus.subscribe() as reader:
        for _ in range(3):
            bus.publish("own/x", {"id": "web1"})
        assert [event.durable for event in reader.drain()] == [True, True, False]
        assert refused == ["events"]

        def full(table, new):
            raise StoreUnavailable("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(Events, "add", full)
            lost = bus.publish("own/x", {"id": "web2"})
        assert [event.durable for event in reader.drain()] == [False]
    await log.flush()
    assert store.events.get(lost.id).tag == "own/x", "it is written when that is possible again"
