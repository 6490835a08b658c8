from __future__ import annotations

import os
import signal
import socket

import pytest

from minion.agent.file_requests import ANSWER_TIMEOUT, OFFLINE_TIMEOUT, FileRelay
from minion.processes import AgentPipe, Child
from wire.codec import decode_to_minion, encode
from wire.messages import FileFound, FindFile, KeepAlive, PublishCall, Refused


@pytest.fixture
def sent():
    return []


@pytest.fixture
def relay(sent):
    def send(message, controller):
        sent.append(message)
        return controller or "a"

    return FileRelay(send)


@pytest.fixture
def worker():
    """Both ends of a worker's socket. The process waits to be ended."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        signal.pause()
        os._exit(0)

    child, pipe = Child(pid, ours), AgentPipe(theirs)
    yield child, pipe
    child.kill()
    child.reap()
    theirs.close()


def question(number=1, path="a"):
    return encode(FindFile(request=number, path=path))


def test_numbers_are_the_connections_and_the_workers(relay, sent, worker):
    child, pipe = worker
    relay.online(0.0, "a")
    relay.ask(child, question(7), 0.0)
    relay.ask(child, question(8, "b"), 0.0)
    relay.answer(FileFound(request=sent[1].request, oid="bb"))
    relay.answer(FileFound(request=sent[0].request, oid="aa"))
    relay.answer(FileFound(request=99, oid="nobody asked"))
    assert decode_to_minion(pipe.receive()) == FileFound(request=8, oid="bb")
    assert decode_to_minion(pipe.receive()) == FileFound(request=7, oid="aa")


def test_away_for_too_long(relay, sent, worker):
    child, pipe = worker
    relay.ask(child, question(), 100.0)
    assert not sent
    assert relay.next_deadline() == 100.0 + OFFLINE_TIMEOUT
    relay.expire(100.0 + OFFLINE_TIMEOUT)
    assert decode_to_minion(pipe.receive()) == Refused(message="the controller is away")


def test_a_refusal_ends_the_wait(relay, sent, worker):
    child, pipe = worker
    relay.online(0.0, "a")
    relay.ask(child, question(7), 0.0)
    relay.answer(Refused(message="too many questions", request=sent[0].request))
    assert decode_to_minion(pipe.receive()) == Refused(message="too many questions", request=7)
    assert relay.next_deadline() == float("inf")


def test_asked_again_after_a_reconnect(relay, sent, worker):
    child, pipe = worker
    relay.online(0.0, "a")
    relay.ask(child, question(), 0.0)
    relay.offline(1.0, "a")
    assert relay.next_deadline() == 1.0 + OFFLINE_TIMEOUT
    relay.online(2.0, "a")
    assert len(sent) == 2
    assert sent[0] == sent[1]
    relay.expire(2.0 + ANSWER_TIMEOUT)
    assert decode_to_minion(pipe.receive()) == Refused(message="no answer in time")


def test_a_worker_that_ended_is_forgotten(relay, sent, worker):
    child, _ = worker
    relay.online(0.0, "a")
    relay.ask(child, question(), 0.0)
    relay.forget(child)
    assert relay.next_deadline() == float("inf")
    relay.answer(FileFound(request=sent[0].request))


@pytest.mark.parametrize("frame", [b"\xc1", encode(KeepAlive())])
def test_a_worker_that_says_anything_else_is_ended(relay, sent, worker, frame):
    child, _ = worker
    relay.online(0.0, "a")
    relay.ask(child, frame, 0.0)
    assert not sent
    ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert ended.si_status == signal.SIGKILL


def test_a_call_of_others_is_not_sent_twice(relay, sent, worker):
    """What it does may not be done again: after a lost connection its asker hears that it is not known."""
    child, pipe = worker
    relay.ask(child, encode(PublishCall(request=1, nonce="a", fun="cmd.run", target="*")), 0.0)
    assert sent == []
    relay.online(1.0, "a")
    assert [message.nonce for message in sent] == ["a"]
    relay.offline(2.0, "a")
    relay.online(3.0, "a")
    assert len(sent) == 1
    answer = decode_to_minion(pipe.receive())
    assert isinstance(answer, Refused)
    assert "whether it was done is not known" in answer.message
