from __future__ import annotations

import pytest

from minion.agent.controllers.session import HELLO_TIMEOUT, KEY_REQUEST_PAUSES, AgentSession, SessionPorts, SessionState
from wire.messages import AliveInterval, Heartbeat, Hello, HelloAck, KeepAlive, KeyRequest, KeyState, Refused


@pytest.fixture
def sent():
    return []


@pytest.fixture
def session(sent):
    def send(message):
        sent.append(message)
        return True

    return AgentSession(
        "web1",
        "ab:cd",
        SessionPorts(
            send=send,
            key_request=lambda accepted: KeyRequest(id="web1"),
            hello=lambda: Hello(id="web1", grains={}),
            keep_alive=KeepAlive,
        ),
    )


def kinds(sent):
    return [type(message) for message in sent]


def test_who_reads_that_the_key_waits_reads_that_it_was_accepted(session, caplog):
    session.connected(0.0)
    for state in ("pending", "pending", "accepted"):
        session.key_state(KeyState(state=state), 0.0)
    told = [record.getMessage().split()[0] for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["event=key_pending", "event=key_accepted"]
    assert "saltern key accept web1" in caplog.text
    assert "saltern key delete web1" in caplog.text


def test_asks_with_growing_pauses_until_accepted(session, sent):
    session.connected(0.0)
    now = 0.0
    for pause in (*KEY_REQUEST_PAUSES, KEY_REQUEST_PAUSES[-1]):
        assert session.deadline == now + pause
        session.tick(now + pause / 2)
        now += pause
        session.tick(now)
    assert kinds(sent) == [KeyRequest] * 7
    session.key_state(KeyState(state="accepted"), now)
    assert kinds(sent)[-1] is Hello
    session.tick(now + HELLO_TIMEOUT)
    assert kinds(sent)[-2:] == [Hello, Hello]
    session.hello_acknowledged(HelloAck(epoch="e", alive_interval=5.0), now)
    assert session.online
    session.tick(now + 5.0)
    assert kinds(sent)[-1] is KeepAlive
    session.paced(AliveInterval(seconds=20.0))
    session.tick(now + 10.0)  # what was due already
    for later in (15.0, 29.0):
        session.tick(now + later)
    assert kinds(sent).count(KeepAlive) == 2
    session.tick(now + 30.0)
    assert kinds(sent).count(KeepAlive) == 3


def test_an_accepted_key_asks_first_on_every_connection_and_when_refused(session, sent):
    session.connected(0.0)
    session.key_state(KeyState(state="accepted"), 0.0)
    session.hello_acknowledged(HelloAck(epoch="e", alive_interval=5.0), 0.0)
    session.disconnected()
    assert session.session_state is SessionState.OFFLINE
    sent.clear()
    session.connected(1.0)
    assert kinds(sent) == [KeyRequest]
    session.key_state(KeyState(state="accepted"), 1.0)
    assert kinds(sent) == [KeyRequest, Hello]
    session.refused(Refused(message="not-accepted"), 1.0)
    assert kinds(sent) == [KeyRequest, Hello, KeyRequest]


def test_a_new_epoch_is_greeted(session, sent):
    session.connected(0.0)
    session.key_state(KeyState(state="accepted"), 0.0)
    session.hello_acknowledged(HelloAck(epoch="e1", alive_interval=5.0), 0.0)
    sent.clear()
    assert not session.heartbeat(Heartbeat(epoch="e1", serial=1, time=0.0), 1.0)
    assert session.heartbeat(Heartbeat(epoch="e2", serial=1, time=0.0), 1.0)
    assert kinds(sent) == [Hello]


def test_a_rejected_key_says_what_to_do_once(session, sent, caplog):
    session.connected(0.0)
    for _ in range(3):
        session.key_state(KeyState(state="rejected"), 0.0)
    assert caplog.text.count("event=key_rejected") == 1
    assert "ab:cd" in caplog.text
    assert "saltern key accept web1" in caplog.text
