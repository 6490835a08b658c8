"""The reactor on a bus: what fails about one event keeps no other from being answered; what is dropped is told."""

import asyncio

from controller.config.limits import ReactorLimits
from controller.observe.metrics import Metrics
from controller.reactions.durable_events import DurableEvents
from controller.reactions.messages import RenderedReactions
from controller.reactions.reactor import Reactor, ReactorSettings
from controller.reactions.rules import RuleRecord
from controller.reconcile.jids import Jids
from controller.reconcile.live import LiveRevision
from controller.store import StoreError
from highstate.compile_options import CompileOptions
from reactors.bus import Bus
from reactors.rules.loop_guard import LoopGuard
from reactors.rules.native_rule import NativeRules
from reactors.rules.reactor_changes import ReactorChanges
from reactors.rules.reactor_map import ReactorEntry, ReactorMap


class Renderer:
    """Gives no reactions; for its first event the store is full. `held`: waits before each answer."""

    def __init__(self):
        self.asked = 0
        self.held = asyncio.Event()

    async def render(self, request):
        self.asked += 1
        await self.held.wait()
        if self.asked == 1:
            raise StoreError("no space left")
        return RenderedReactions()


def reactor_on(bus, renderer, **limits):
    settings = ReactorSettings(
        reactors=ReactorChanges(ReactorMap((ReactorEntry(tag="custom/*", sls=("/x.sls",)),))),
        rules=NativeRules(),
        language=CompileOptions(),
        limits=ReactorLimits(**limits),
        grains=dict,
        parameters=dict,
    )
    return Reactor(
        settings=settings,
        bus=bus,
        live=LiveRevision(),
        process=renderer,
        actions=None,
        guard=LoopGuard(),
        durable=DurableEvents(table=None),
        ids=Jids(lambda: 1.0),
        metrics=Metrics(lambda: 1.0),
        clock=lambda: 1.0,
        record=RuleRecord(recent=list, event=lambda _: None, keep=asyncio.Event().wait),
    )


async def until(seen, tag):
    """All events up to the first whose tag ends so."""
    events = []
    async for event in seen:
        events.append(event)
        if event.tag.endswith(tag):
            return events
    raise AssertionError("the bus has ended")


async def test_an_event_that_cannot_be_answered_keeps_no_other_from_it():
    bus, renderer = Bus(lambda: 1.0), Renderer()
    renderer.held.set()
    reactor = reactor_on(bus, renderer)
    with bus.subscribe("saltern/reaction/*") as seen:
        task = asyncio.create_task(reactor.run())
        await asyncio.sleep(0)
        first = bus.publish("custom/one", {"id": "web1"})
        bus.publish("custom/two", {"id": "web1"})
        events = await asyncio.wait_for(until(seen, "/ret"), 60)
        task.cancel()
    failed = next(event for event in events if event.tag == "saltern/reaction/error")
    assert (failed.cause, failed.data["error"]) == (first.id, "StoreError: no space left")
    assert (events[-1].data["tag"], events[-1].data["outcome"]) == ("custom/two", "ok")


async def test_what_is_dropped_is_told_and_counted_by_its_limit():
    bus, renderer = Bus(lambda: 1.0), Renderer()
    reactor = reactor_on(bus, renderer, waiting_events=8)
    with bus.subscribe("saltern/reaction/*") as seen:
        task = asyncio.create_task(reactor.run())
        await asyncio.sleep(0)
        for number in range(40):
            bus.publish("custom/x", {"id": f"web{number}"})
        renderer.held.set()
        events = await asyncio.wait_for(until(seen, "/shed"), 60)
        task.cancel()
    dropped = events[-1].data["dropped"]
    assert dropped > 0
    assert reactor.metrics.limit_refusals("reactor")["waiting-events"] == dropped
