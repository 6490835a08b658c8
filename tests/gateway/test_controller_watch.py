"""Which controller the links of a gateway go to, with real sockets of some that answer, are silent, or are gone."""

import asyncio
import contextlib
import json
import logging

import pytest
import zmq

from gateway import controller_watch
from gateway.controller_watch import ControllerWatch
from gateway.controllers import ControllerPlaces
from gateway.minions.link import ControllerSide, StockLink
from gateway.own_key import OwnKey
from minion.agent.controllers.controller_keys import ControllerKeys
from wire.address import Address, Bind
from wire.keys import KeyPair
from wire.messages import KeepAlive, KeyRequest, KeyState
from wire.server.server import Server
from wire.server.types import Incoming

logging.getLogger("gateway").setLevel(logging.DEBUG)


def pair():
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


class Nobody:
    def identity(self, _key):
        return None


class Controller:
    """A controller's sockets; it says to each key that it waits, or nothing at all."""

    def __init__(self, keys, *, answers=True, port=0):
        self.asked = []
        self._answers = answers
        bind = Bind(publish_port=0, request_port=port)
        self.server = Server(bind, keys, Nobody(), self._take, expected=lambda: 10)
        self.server.start()
        self.port = self.server.ports.request

    def _take(self, batch):
        for each in batch:
            if isinstance(each, Incoming) and isinstance(each.message, KeyRequest):
                self.asked.append(each.message.id)
                if self._answers:
                    self.server.send(each.key, KeyState(state="pending"))

    def stop(self):
        self.server.stop()


class Links:
    """The own link of a gateway and that of a minion."""

    def __init__(self, folder, ports, key):
        addresses = {
            f"c{at}": Address(host="127.0.0.1", request_port=port, controller_key=key) for at, port in ports.items()
        }
        self.places = ControllerPlaces(addresses)
        self.kept = folder / "controller.json"
        self._context = zmq.Context()
        keys = ControllerKeys(folder / "controller", folder, key)
        side = ControllerSide(places=self.places, context=self._context, keys=keys, own=OwnKey(folder, "gateway1"))
        self.watch = ControllerWatch(side.own, self.places, keys, folder / "gateway", self.kept)
        self.own = self._link("gateway1", side, side.own.keys, heard=self.watch.take)
        self.minion = self._link("web1", side, pair())

    def _link(self, name, side, keys, **more):
        return StockLink(
            name,
            side,
            keys,
            key_request=lambda _: KeyRequest(id=name),
            hello=lambda: None,
            keep_alive=lambda: KeepAlive(),
            take=lambda _: None,
            **more,
        )

    @contextlib.asynccontextmanager
    async def served(self):
        tasks = [asyncio.ensure_future(link.serve()) for link in (self.own, self.minion)]
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.watch.close()
            self._context.term()

    @property
    def noted(self):
        return json.loads(self.kept.read_text())["controller"]


async def until(condition, seconds=15.0):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
def keys():
    return pair()


@pytest.fixture
def controllers(keys):
    made = []

    def make(**more):
        made.append(Controller(keys, **more))
        return made[-1]

    yield make
    for each in made:
        with contextlib.suppress(Exception):
            each.stop()


def said(caplog, event):
    return [line for line in caplog.messages if f"event={event} " in line]


def test_all_links_go_to_the_next_when_one_is_gone_and_stay_there(tmp_path, controllers, keys, caplog):
    first, second = controllers(), controllers()

    async def scene():
        async with Links(tmp_path, {1: first.port, 2: second.port}, keys.public).served() as links:
            await until(lambda: sorted(set(first.asked)) == ["gateway1", "web1"])
            await until(lambda: links.places.reached == "c1")
            assert links.noted == "c1"
            first.stop()
            await until(lambda: {"gateway1", "web1"} <= set(second.asked))
            assert (links.places.reached, links.noted) == ("c2", "c2")
            back = controllers(port=first.port)
            asked = len(second.asked)
            await until(lambda: len(second.asked) > asked)  # it asks again on the same connection
            assert (links.places.current, back.asked) == ("c2", [])
        assert links.noted == ""

    asyncio.run(scene())
    assert len(said(caplog, "controller_failed")) == 1
    [changed] = said(caplog, "controller_changed")
    assert changed.endswith("controller=c2 before=c1")


def test_one_that_does_not_answer_is_left(tmp_path, controllers, keys, caplog, monkeypatch):
    monkeypatch.setattr(controller_watch, "ADMISSION_SECONDS", 0.3)
    silent, second = controllers(answers=False), controllers()

    async def scene():
        async with Links(tmp_path, {1: silent.port, 2: second.port}, keys.public).served() as links:
            await until(lambda: links.places.reached == "c2" and "web1" in second.asked)

    asyncio.run(scene())
    [failed] = said(caplog, "controller_failed")
    assert "controller=c1 cause=it has not answered within 0.3 s next=c2" in failed


def test_a_round_without_any_is_waited_after_and_each_cause_is_told_once(
    tmp_path, controllers, keys, caplog, monkeypatch
):
    monkeypatch.setattr(controller_watch, "TOLD_AFTER", 0.2)
    first = controllers()
    port = first.port
    first.stop()

    async def scene():
        async with Links(tmp_path, {1: port, 2: port}, keys.public).served() as links:
            await until(lambda: len(said(caplog, "controller_unreachable")) >= 1 and links.places.pause >= 1)
            controllers(port=port)
            await until(lambda: bool(links.places.reached))

    asyncio.run(scene())
    causes = said(caplog, "controller_unreachable")
    assert all("nothing listens on" in each and str(tmp_path / "gateway") in each for each in causes)
    assert said(caplog, "controller_reached")


def test_of_one_alone_the_cause_is_told_and_nothing_fails_over(tmp_path, controllers, keys, caplog):
    first = controllers()

    async def scene():
        async with Links(tmp_path, {1: first.port}, pair().public).served() as links:
            await until(lambda: said(caplog, "controller_unreachable"), 3)
            assert (links.places.reached, links.noted) == ("", "")

    asyncio.run(scene())
    [told] = said(caplog, "controller_unreachable")
    assert f"has another key than `controller_key` in {tmp_path / 'gateway'}" in told
    assert not said(caplog, "controller_failed")
