"""How often a minion may have others called, and how much it gets of it."""

from __future__ import annotations

import asyncio

import pytest

from controller.access.audit import Audit
from controller.adapters.sdb import Profiles
from controller.config.access import read_access
from controller.config.limits import AccessLimits
from controller.config.settings import ControllerSettings
from controller.messages.own_authority import OwnAuthority
from controller.messages.peer_calls import PeerCalls
from controller.schema.runs import CallReturn
from controller.sessions.sessions import Session
from controller.store import Store
from options.document import parse_document
from wire.limits import MinionLimits
from wire.messages import PublishCall, Published, Refused


class Work:
    """Minions that answer when they are told to."""

    def __init__(self) -> None:
        self.asked = []
        self.go_on = asyncio.Event()
        self.value = True

    def select(self, target):
        return ["web1"]

    async def call(self, minions, question, user, asker):
        self.asked.append((list(minions), question.fun, question.timeout, user, asker))
        await self.go_on.wait()
        yield CallReturn(minion="web1", ok=True, run_id="1", value=self.value)

    def runner(self, question, user):
        raise NotImplementedError


@pytest.fixture
async def peers(tmp_path):
    sent, refused = [], []
    limits = MinionLimits(peer_calls=3, peer_calls_a_second=1.0, peer_bytes=1000, peer_seconds=20.0)
    with Store(f"sqlite:///{tmp_path}/store.sqlite") as store:
        found = PeerCalls(
            authority=OwnAuthority(settings=ControllerSettings(), secrets=Profiles({}), select=lambda _: frozenset()),
            settings=read_access(parse_document("peer: {db1: [test.*]}", "controller"), []),
            audit=Audit(store=store, clock=lambda: 1.0, limits=AccessLimits(), redact=str, on_refusal=refused.append),
            select=lambda _: frozenset(),
            send=lambda _, message: sent.append(message),
            limits=limits,
            on_refusal=refused.append,
            work=Work(),
        )
        yield found, sent, refused


@pytest.fixture
def session():
    return Session(minion="db1", key="k", session="s", grains={}, seen=0.0)


def asked(number, **more):
    return PublishCall(request=number, nonce=str(number), target="*", fun="test.ping", **more)


async def until(what):
    for _ in range(500):
        if what():
            return
        await asyncio.sleep(0.01)
    raise AssertionError


async def test_two_at_a_time_and_so_many_in_a_while(peers, session):
    found, sent, refused = peers
    for number in (1, 2, 3):
        found.ask(session, asked(number), 0.0)
    assert [type(each) for each in sent] == [Refused]
    found.work.go_on.set()
    await until(lambda: len(sent) == 3)
    found.ask(session, asked(4), 0.0)
    await until(lambda: len(sent) == 4)
    found.ask(session, asked(5), 0.0)
    assert isinstance(sent[-1], Refused)
    found.ask(session, asked(6), 2.0)
    await until(lambda: len(sent) == 6)
    assert isinstance(sent[-1], Published)
    assert refused == ["peer-calls", "peer-calls"]


async def test_the_same_is_done_once(peers, session):
    found, sent, _ = peers
    found.work.go_on.set()
    for _ in range(3):
        found.ask(session, asked(1), 0.0)
    await until(lambda: len(sent) == 3)
    assert [type(each) for each in sent].count(Published) == 1
    assert len(found.work.asked) == 1


async def test_waits_and_returns_are_bounded(peers, session):
    found, sent, refused = peers
    found.work.go_on.set()
    found.work.value = "x" * 2000
    found.ask(session, asked(1, timeout=1e9), 0.0)
    await until(lambda: sent)
    assert isinstance(sent[0], Refused)
    assert "larger than 1000 bytes" in sent[0].message
    assert found.work.asked == [(["web1"], "test.ping", 20.0, "minion db1", "db1")]
    assert refused == ["peer-bytes"]
