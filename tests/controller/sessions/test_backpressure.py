"""A loop that falls behind holds the wire back, and lets go when it has caught up."""

import asyncio

from controller.sessions import backpressure
from controller.sessions.backpressure import Backpressure


class Wire:
    """Remembers whether it reads."""

    def __init__(self):
        self.calls = []

    def hold(self):
        self.calls.append("hold")

    def resume(self):
        self.calls.append("resume")


async def test_a_flood_is_held_back_and_let_go(monkeypatch):
    monkeypatch.setattr(backpressure, "HIGH", 10)
    monkeypatch.setattr(backpressure, "LOW", 3)
    handled = []
    inlet, wire = Backpressure(asyncio.get_running_loop()), Wire()
    inlet.attach(wire, handled.extend)
    for number in range(5):
        inlet.put([number] * 4)
    assert wire.calls == ["hold"], "once, and nothing is lost that is read already"
    await asyncio.sleep(0)
    assert handled == [number for number in range(5) for _ in range(4)]
    assert wire.calls == ["hold", "resume"]


async def test_a_closed_loop_takes_nothing_and_raises_nothing():
    loop = asyncio.new_event_loop()
    loop.close()
    Backpressure(loop).put(["x"])
