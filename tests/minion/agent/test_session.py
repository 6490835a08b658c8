from __future__ import annotations

import pytest

from minion.agent.session import ASK_AGAIN, GREET_AGAIN, AgentSession, LinkPorts, SessionState
from wire.messages import Heartbeat, Hello, HelloAck, KeepAlive, KeyRequest, KeyState, Refused


@pytest.fixture
def sent():
    return []


@pytest.fixture
def link(sent):
    def send(message):
        sent.append(message)
        return True

    return AgentSession(
        "web1", "ab:cd", LinkPorts(send=send, hello=lambda: Hello(id="web1", grains={}), alive=KeepAlive)
    )


def kinds(sent):
    return [type(message) for message in sent]


def test_asks_with_growing_pauses_until_accepted(link, sent):
    link.connected(0.0)
    now = 0.0
    for pause in (*ASK_AGAIN, ASK_AGAIN[-1]):
        assert link.deadline == now + pause
        link.tick(now + pause / 2)
        now += pause
        link.tick(now)
    assert kinds(sent) == [KeyRequest] * 7
    link.key_state(KeyState(state="accepted"), now)
    assert kinds(sent)[-1] is Hello
    link.tick(now + GREET_AGAIN)
    assert kinds(sent)[-2:] == [Hello, Hello]
    link.welcome(HelloAck(epoch="e", alive_interval=5.0), now)
    assert link.online
    link.tick(now + 5.0)
    assert kinds(sent)[-1] is KeepAlive


def test_an_accepted_key_greets_at_once_and_asks_when_refused(link, sent):
    link.connected(0.0)
    link.key_state(KeyState(state="accepted"), 0.0)
    link.welcome(HelloAck(epoch="e", alive_interval=5.0), 0.0)
    link.disconnected()
    assert link.session_state is SessionState.OFFLINE
    sent.clear()
    link.connected(1.0)
    assert kinds(sent) == [Hello]
    link.refused(Refused(message="not-accepted"), 1.0)
    assert kinds(sent) == [Hello, KeyRequest]


def test_a_new_epoch_is_greeted(link, sent):
    link.connected(0.0)
    link.key_state(KeyState(state="accepted"), 0.0)
    link.welcome(HelloAck(epoch="e1", alive_interval=5.0), 0.0)
    sent.clear()
    assert not link.heartbeat(Heartbeat(epoch="e1", serial=1, time=0.0), 1.0)
    assert link.heartbeat(Heartbeat(epoch="e2", serial=1, time=0.0), 1.0)
    assert kinds(sent) == [Hello]


def test_a_rejected_key_says_what_to_do_once(link, sent, caplog):
    link.connected(0.0)
    for _ in range(3):
        link.key_state(KeyState(state="rejected"), 0.0)
    assert caplog.text.count("event=key_rejected") == 1
    assert "ab:cd" in caplog.text
    assert "saltern key accept web1" in caplog.text
