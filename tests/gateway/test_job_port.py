"""The port of jobs with real subscribers: who is told of what, and what is noticed of them."""

import asyncio
import contextlib
import signal
import socket
import subprocess
import sys

import msgpack
import pytest
import zmq
import zmq.asyncio

from gateway import job_port as module
from gateway.job_port import MOST_SUBSCRIPTIONS, JobPort, mark_of, marked, topic_of
from gateway.protocol.packing import pack

PUBLICATION = {"enc": "aes", "load": b"\x00sealed", "sig_algo": "PKCS1v15-SHA1", "sig": b"\x01"}


class Listeners:
    """A port, and subscribers from addresses of the loopback."""

    def __init__(self):
        self.context = zmq.asyncio.Context()
        self.connections = []
        self.opened = []
        self.port = JobPort(zmq.Context.shadow(self.context.underlying), "127.0.0.1", 0, self.connection)
        self.changes = []
        self.port.changed = lambda *change: self.changes.append(change)

    def connection(self, number, address, came):
        self.connections.append((address, came))

    def start(self, address, *topics):
        """A subscriber that comes from an address, and asks for topics."""
        found = self.context.socket(zmq.SUB)
        self.opened.append(found)
        found.set(zmq.RECONNECT_IVL, -1)
        for topic in topics:
            found.set(zmq.SUBSCRIBE, topic)
        found.connect(f"tcp://{address}:0;127.0.0.1:{self.port.port}")
        return found

    async def listen(self, address, *topics):
        """The same, once it is known."""
        before = len(self.changes)
        found = self.start(address, *(topics or (b"",)))
        await self.until(lambda: (address, True) in self.changes[before:])
        return found

    async def until(self, condition):
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.005)


@pytest.fixture
async def listeners():
    found = Listeners()
    yield found
    for each in found.opened:
        each.close(linger=0)
    found.port.close()
    found.context.term()


async def heard(subscriber):
    """All that has come, up to what was said last."""
    frames = []
    while not frames or b"last" not in frames[-1][-1]:
        async with asyncio.timeout(20):
            frames.append(await subscriber.recv_multipart())
    return frames[:-1]


def say_last(listeners, *subscribers):
    listeners.port.publish(dict.fromkeys(subscribers, ""), {**PUBLICATION, "sig": b"last"})


async def test_a_job_for_an_address_comes_there_alone(listeners):
    one, two = await listeners.listen("127.0.0.2"), await listeners.listen("127.0.0.3")
    listeners.port.publish({"web1": "127.0.0.2"}, PUBLICATION)
    say_last(listeners, "web1", "web2")
    [[frame]] = await heard(one)
    assert msgpack.unpackb(frame, raw=True)[b"load"] == b"\x00sealed"
    assert await heard(two) == []


async def test_a_job_for_a_minion_whose_address_is_not_known_comes_everywhere_once(listeners):
    one, two = await listeners.listen("127.0.0.2"), await listeners.listen("127.0.0.3")
    listeners.port.publish({"web1": "127.0.0.2", "web2": ""}, PUBLICATION)
    listeners.port.publish({"web1": "127.0.0.9"}, PUBLICATION)
    say_last(listeners, "web1")
    assert [len(await heard(each)) for each in (one, two)] == [2, 2]


async def test_a_minion_with_zmq_filtering_is_told_of_its_own_jobs_by_two_frames(listeners):
    one = await listeners.listen("127.0.0.2", b"broadcast", topic_of("web1"))
    other = await listeners.listen("127.0.0.2")
    listeners.port.publish({"web2": ""}, PUBLICATION)
    listeners.port.publish({"web1": "127.0.0.2"}, PUBLICATION)
    say_last(listeners, "web1")
    [frames] = await heard(one)
    assert frames == [topic_of("web1"), pack(PUBLICATION)]
    assert [len(each) for each in await heard(other)] == [1, 1]


@pytest.mark.parametrize("topic", [mark_of("127.0.0.3"), b"\x85", b"broadcast", b"syndic", b"f" * 41])
async def test_nobody_is_told_more_for_asking(listeners, topic):
    other, curious = await listeners.listen("127.0.0.3"), await listeners.listen("127.0.0.2", topic, topic_of("spy"))
    listeners.port.publish({"web1": "127.0.0.3"}, PUBLICATION)
    listeners.port.publish({"web1": ""}, PUBLICATION)
    say_last(listeners, "spy")
    assert len(await heard(other)) == 2
    assert await heard(curious) == []


async def test_a_connection_that_ends_is_told_by_its_address(listeners):
    one, two = await listeners.listen("127.0.0.2"), await listeners.listen("127.0.0.2")
    assert listeners.port.listens("127.0.0.2")
    listeners.changes.clear()
    one.close(linger=0)
    await listeners.until(lambda: listeners.changes == [("127.0.0.2", False)])
    assert listeners.port.listens("127.0.0.2")
    two.close(linger=0)
    await listeners.until(lambda: len(listeners.changes) == 2)
    assert not listeners.port.listens("127.0.0.2")


async def test_one_that_asks_for_too_much_is_ended_and_others_are_not(listeners):
    honest = await listeners.listen("127.0.0.3")
    listeners.start("127.0.0.2", *(topic_of(str(number)) for number in range(4 * MOST_SUBSCRIPTIONS)))
    await listeners.until(lambda: ("127.0.0.2", False) in listeners.changes)
    assert not listeners.port.listens("127.0.0.2")
    listeners.port.publish({"web1": ""}, PUBLICATION)
    say_last(listeners, "web1")
    assert len(await heard(honest)) == 1


async def test_newcomers_are_greeted_once_each_in_its_way(listeners):
    old = await listeners.listen("127.0.0.2")
    listeners.port.greet(lambda: PUBLICATION)
    plain, filtering = await listeners.listen("127.0.0.3"), await listeners.listen("127.0.0.3", topic_of("web1"))
    made = []
    for _ in range(2):
        listeners.port.greet(lambda: made.append(1) or {**PUBLICATION, "sig": b"greeting"})
    say_last(listeners, "web1")
    assert len(made) == 1
    assert [b"greeting" in frames[-1] for frames in await heard(old)] == [False]
    assert [b"greeting" in frames[-1] for frames in await heard(plain)] == [True]
    assert await heard(filtering) == [[topic_of("web1"), pack({**PUBLICATION, "sig": b"greeting"})]]


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "_ALIVE_MS", 300)
    monkeypatch.setattr(module, "_DEAD_MS", 300)


async def test_a_connection_that_gives_no_sign_of_life_is_ended(impatient, listeners):
    """A machine without power ends none: here the process is stopped, and its socket stays open."""
    address = f"tcp://127.0.0.2:0;127.0.0.1:{listeners.port.port}"
    code = f"import zmq; s = zmq.Context().socket(zmq.SUB); s.subscribe(b''); s.connect({address!r}); s.recv()"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            await listeners.until(lambda: listeners.port.listens("127.0.0.2"))
            process.send_signal(signal.SIGSTOP)
            await listeners.until(lambda: not listeners.port.listens("127.0.0.2"))
        finally:
            process.kill()


async def test_each_connection_is_told_of_when_it_comes_and_ends(listeners):
    one = await listeners.listen("127.0.0.2")
    assert listeners.connections == [("127.0.0.2", True)]
    one.close(linger=0)
    await listeners.until(lambda: listeners.connections == [("127.0.0.2", True), ("127.0.0.2", False)])


async def test_strangers_that_connect_and_say_nothing_of_use_do_no_harm(listeners):
    for garbage in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 64):
        with socket.create_connection(("127.0.0.1", listeners.port.port)) as found, contextlib.suppress(OSError):
            found.sendall(garbage)
            await asyncio.sleep(0.01)
    one = await listeners.listen("127.0.0.2")
    listeners.port.publish({"web1": "127.0.0.2"}, PUBLICATION)
    say_last(listeners, "web1")
    assert len(await heard(one)) == 1


def test_a_mark_is_how_a_publication_begins_and_its_other_fields_are_read():
    frame = marked(pack(PUBLICATION), "192.0.2.1")
    assert frame.startswith(mark_of("192.0.2.1"))
    assert not frame.startswith(mark_of("*"))
    read = msgpack.unpackb(frame, raw=True)
    assert {name: read[name.encode()] for name in PUBLICATION} == {
        "enc": b"aes",
        "load": b"\x00sealed",
        "sig_algo": b"PKCS1v15-SHA1",
        "sig": b"\x01",
    }
