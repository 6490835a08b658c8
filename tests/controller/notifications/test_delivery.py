"""Delivery from a real store: waits, order, what is given up, and a controller that leads no more."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notification_services import message
from prometheus_client import CollectorRegistry

from controller.config.limits import NotificationLimits
from controller.notifications.delivery import (
    FIRST_WAIT,
    JITTER,
    LONGEST_WAIT,
    NotificationDelivery,
    room_of,
    wait_after,
)
from controller.notifications.notifier import entry_of
from controller.notifications.receivers.receiver import Rejected, TryLater
from controller.observe.notification_metrics import NotificationMetrics
from controller.store import Store, StoreUnavailable

LIMITS = NotificationLimits(waiting_seconds=100.0)


class There:
    """A receiver that does what a test says."""

    def __init__(self, *answers):
        self.answers, self.got = list(answers), []

    async def send(self, message):
        self.got.append(message.id)
        if self.answers and (error := self.answers.pop(0)) is not None:
            raise error


class Scene:
    def __init__(self, store, *answers):
        self.now, self.store, self.registry = 1000.0, store, CollectorRegistry()
        self.there = There(*answers)
        metrics = NotificationMetrics(self.registry, ("there",))
        self.delivery = NotificationDelivery(
            store=store, receivers={"there": self.there}, limits=LIMITS, metrics=metrics, clock=lambda: self.now
        )

    def put(self, name):
        self.store.notifications.put(entry_of(message(id=name, at=self.now)), room_of(LIMITS))

    async def step(self):
        return await self.delivery._next("there")

    def count(self, name, **labels):
        return self.registry.get_sample_value(name, {"receiver": "there", **labels})


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as opened:
        yield opened


async def test_one_that_fails_holds_back_those_behind_it_and_is_tried_later(store):
    scene = Scene(store, TryLater("no", 40.0))
    scene.put("m1")
    scene.put("m2")
    await scene.step()
    assert await scene.step() == pytest.approx(40.0), "as long as it wants"
    assert scene.count("saltern_notification_failing") == 1
    scene.now += 41
    await scene.step()
    await scene.step()
    assert scene.there.got == ["m1", "m1", "m2"]
    assert (scene.count("saltern_notifications_sent_total"), scene.count("saltern_notification_failing")) == (2, 0)
    assert store.notifications.newest(10) == []


async def test_what_is_refused_or_too_old_is_given_up_and_the_next_goes_on(store):
    scene = Scene(store, Rejected("invalid_payload"), TryLater("no"))
    for name in ("m1", "m2", "m3"):
        scene.put(name)
    await scene.step()
    await scene.step()
    scene.now += 101
    await scene.step()
    errors = {one.id: one.error for one in store.notifications.newest(10) if one.state == "dead"}
    assert errors == {"m1": "invalid_payload", "m2": "not taken within 100 s: no"}
    assert scene.count("saltern_notifications_dropped_total", reason="rejected") == 1
    assert scene.count("saltern_notifications_dropped_total", reason="too_old") == 1


async def test_a_fault_of_an_adapter_ends_nothing(store):
    scene = Scene(store, KeyError("fault"))
    scene.put("m1")
    await scene.step()
    [left] = store.notifications.newest(10)
    assert (left.state, left.error) == ("waiting", "internal error: KeyError")


async def test_who_cannot_note_an_attempt_sends_nothing(store, monkeypatch):
    """The store of a controller that leads no more refuses to be written (tests/controller/cluster, ADR 28)."""
    scene = Scene(store)
    scene.put("m1")

    def refused(message):
        raise StoreUnavailable("another controller leads")

    monkeypatch.setattr(type(store.notifications), "begin", lambda self, message: refused(message))
    with pytest.raises(StoreUnavailable):
        await scene.step()
    assert scene.there.got == []


async def test_a_message_that_comes_wakes_the_receiver(store):
    scene = Scene(store)
    running = asyncio.create_task(scene.delivery.run())
    await asyncio.sleep(0)
    scene.put("m1")
    scene.delivery.wake()
    while store.notifications.newest(1):
        await asyncio.sleep(0.01)
    running.cancel()
    assert scene.there.got == ["m1"]


@given(st.integers(1, 1000), st.floats(0, 3600), st.floats(0, 1))
def test_waits_grow_within_bounds(attempts, asked, chance):
    wait = wait_after(attempts, asked, chance)
    assert max(asked, FIRST_WAIT * (1 - JITTER)) <= wait <= max(asked, LONGEST_WAIT * (1 + JITTER))
