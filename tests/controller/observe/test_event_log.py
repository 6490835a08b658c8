"""Events reach the store in batches, and none is lost while it cannot be written."""

import asyncio
import threading

import pytest

from controller.observe import event_log
from controller.observe.event_log import EventLog
from controller.store import Store, StoreUnavailable
from controller.store.events import Events
from reactors.bus import Bus
from wire.limits import MinionLimits


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        yield store


async def test_what_is_published_is_written_together(store, monkeypatch):
    monkeypatch.setattr(event_log, "WRITE_SECONDS", 0.01)
    bus = Bus(lambda: 1.0, last=store.events.last_id())
    task = asyncio.create_task(EventLog(store, bus, lambda: 1.0).run())
    first = bus.publish("saltern/a", {"id": "web1"})
    bus.publish("salt/job/1/prog/web1/3", {"id": "web1"})
    second = bus.publish("saltern/b", {"id": "web1"}, cause=first.id)
    while store.events.last_id() < second.id:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])
    assert store.events.get(second.id) == second
    assert store.events.get(2) is None, "how far a run is is not kept"
    again = Bus(lambda: 1.0, last=store.events.last_id())
    assert again.publish("saltern/c", {}).id == second.id + 1, "ids rise over restarts"


async def test_a_store_that_cannot_be_written_is_tried_again(store, monkeypatch):
    bus = Bus(lambda: 1.0)
    log = EventLog(store, bus, lambda: 1.0)
    first = bus.publish("saltern/a", {"id": "web1"})

    def full(table, new):
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Events, "add", full)
        await log.flush()
    second = bus.publish("saltern/b", {"id": "web1"})
    await log.flush()
    assert [store.events.get(each.id) for each in (first, second)] == [first, second]


async def test_what_is_too_old_is_forgotten(store):
    bus = Bus(lambda: 1.0)
    log = EventLog(store, bus, lambda: event_log.MOST_SECONDS + 2.0)
    bus.publish("saltern/a", {"id": "web1"})
    await log.flush()
    log.prune(10)
    assert store.events.last_id() == 0


async def test_a_minion_that_causes_many_events_takes_no_room_from_others(store):
    refused = []
    bus = Bus(lambda: 1.0)
    log = EventLog(store, bus, lambda: 1.0, MinionLimits(events=5), refused.append)
    for number in range(50):
        bus.publish("saltern/x", {"id": "mallory"})
        bus.publish("salt/auth", {"id": f"stranger{number}"})
    honest = bus.publish("saltern/x", {"minion": "web1"})
    await log.flush()
    assert store.events.get(honest.id) == honest
    assert refused == ["events"] * 90


async def test_what_is_being_written_when_the_log_ends_is_written_once_and_what_came_since_as_well(store, monkeypatch):
    monkeypatch.setattr(event_log, "WRITE_SECONDS", 0.0)
    begun, go_on = threading.Event(), threading.Event()
    add = Events.add

    def slow(table, new):
        begun.set()
        go_on.wait()
        add(table, new)

    bus = Bus(lambda: 1.0)
    log = EventLog(store, bus, lambda: 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(Events, "add", slow)
        task = asyncio.create_task(log.run())
        first = bus.publish("saltern/a", {"id": "web1"})
        await asyncio.to_thread(begun.wait)
        second = bus.publish("saltern/b", {"id": "web1"})
        task.cancel()
        flushed = asyncio.create_task(log.flush())
        await asyncio.sleep(0)
        go_on.set()
        await flushed
        await asyncio.wait([task])
    assert task.cancelled()
    assert [store.events.get(each.id) for each in (first, second)] == [first, second]
