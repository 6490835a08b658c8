"""Who is there, in Salt's words."""

import asyncio

from controller.sessions import presence
from controller.sessions.presence import Presence
from controller.sessions.sessions import Session, Sessions
from reactors.bus import Bus


def session(minion):
    return Session(minion=minion, key=minion * 4, session="1", grains={}, seen=1.0)


async def test_changes_close_together_are_one_event(monkeypatch):
    monkeypatch.setattr(presence, "CHANGE_SECONDS", 0.01)
    bus, sessions = Bus(lambda: 1.0), Sessions()
    sessions.connect(session("db1"))
    with bus.subscribe("salt/presence/*") as heard:
        task = asyncio.create_task(Presence(bus, sessions).run())
        await heard.wait()
        [first] = heard.drain()
        assert (first.tag, first.data) == ("salt/presence/present", {"present": ["db1"]})
        for minion in ("web2", "web1"):
            sessions.connect(session(minion))
            last = bus.publish(f"salt/minion/{minion}/start", {"id": minion})
        await heard.wait()
        [change] = heard.drain()
        assert (change.tag, change.data) == ("salt/presence/change", {"new": ["web1", "web2"], "lost": []})
        assert change.cause == last.id
        sessions.disconnect("db1")
        bus.publish("saltern/minion/db1/gone", {"id": "db1"})
        await heard.wait()
        assert heard.drain()[0].data == {"new": [], "lost": ["db1"]}
        bus.publish("saltern/minion/db1/gone", {"id": "db1"})
        await asyncio.sleep(0.05)
        assert not heard.drain(), "nothing changed"
        task.cancel()
        await asyncio.wait([task])


async def test_all_who_are_there_are_named_again_and_again(monkeypatch):
    monkeypatch.setattr(presence, "PRESENT_SECONDS", 0.01)
    bus = Bus(lambda: 1.0)
    with bus.subscribe("salt/presence/present") as heard:
        task = asyncio.create_task(Presence(bus, Sessions()).run())
        count = 0
        while count < 3:
            await heard.wait()
            count += len(heard.drain())
        task.cancel()
        await asyncio.wait([task])
