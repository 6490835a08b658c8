"""What peers that mean well get from the server."""

from __future__ import annotations

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import zmq

from wire.address import Bind
from wire.client import Connection, Disconnected
from wire.codec import MAX_TO_MINION, encode
from wire.errors import CannotBind, MalformedMessage
from wire.keys import KeyPair
from wire.messages import (
    Blob,
    Bye,
    Heartbeat,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    Refused,
    ResultAck,
    RunStarted,
)
from wire.server.server import Server
from wire.server.types import Gone, Identity, Incoming, Refusal

WELCOME = HelloAck(epoch="e1", alive_interval=15.0)


def reconnect(connection: Connection) -> None:
    """Break the connection off; its next `receive` makes a new one at once."""
    connection._hang_up()
    connection._due = 0.0


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_an_accepted_minion_is_heard_and_answered(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={"os": "Debian"}))
    heard = controller.wait(Incoming)
    assert (heard.id, heard.key) == ("web1", web.keys.public)
    assert heard.message == Hello(id="web1", grains={"os": "Debian"})
    controller.server.send(web.keys.public, WELCOME)
    assert web.wait(HelloAck) == WELCOME
    controller.wait_count("out.welcome")  # it is counted after it is sent
    counts = controller.server.counts()
    assert (counts["in.hello"], counts["out.welcome"], counts["peers"]) == (1, 1, 1)
    assert counts["bytes_in"] > 0
    assert counts["bytes_out"] > 0


def accepted_by(port: int) -> list[socket.socket]:
    """The connections of this process that came in by a port."""
    found = []
    for opened in list(Path("/proc/self/fd").iterdir()):
        try:
            each = socket.socket(fileno=os.dup(int(opened.name)))
        except OSError:
            continue
        try:
            each.getpeername()
            is_ours = each.family == socket.AF_INET and each.getsockname()[1] == port
        except OSError:
            is_ours = False
        if is_ours:
            found.append(each)
        else:
            each.close()
    return found


def test_the_kernel_asks_whether_a_peer_is_still_there(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    [connection] = accepted_by(controller.server.ports.request)
    with connection:
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle, between, count, unanswered = (
            connection.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
        )
    assert idle + between * count == 60
    assert unanswered == 60_000, "what it sent and nobody received, too"


def test_a_key_asks_and_is_accepted(controller: Any) -> None:
    web = controller.peer()
    web.send(KeyRequest(id="web1"))
    asked = controller.wait(Incoming)
    assert (asked.id, asked.message) == (None, KeyRequest(id="web1"))
    controller.server.send(web.keys.public, KeyState(state="pending"))
    assert web.wait(KeyState).state == "pending"
    controller.know(web.keys, "web1")
    controller.server.send(web.keys.public, KeyState(state="accepted"))
    assert web.wait(KeyState).state == "accepted"
    web.send(Hello(id="web1", grains={}))
    assert controller.wait(Incoming).id == "web1"


def test_messages_of_one_minion_keep_their_order(controller: Any) -> None:
    web = controller.peer("web1")
    for number in range(500):
        web.send(RunStarted(run_id=str(number)))
    heard = [controller.wait(Incoming).message.run_id for _ in range(500)]
    assert heard == [str(number) for number in range(500)]


def test_each_minion_gets_what_is_meant_for_it(controller: Any) -> None:
    peers = [controller.peer(f"web{number}") for number in range(5)]
    for number, peer in enumerate(peers):
        peer.send(Hello(id=f"web{number}", grains={}))
    for _ in peers:
        heard = controller.wait(Incoming)
        controller.server.send(heard.key, ResultAck(run_id=heard.id))
    for number, peer in enumerate(peers):
        assert peer.wait(ResultAck).run_id == f"web{number}"


def test_what_several_threads_send_at_once_all_comes(controller: Any) -> None:
    peers = [controller.peer(f"web{number}") for number in range(4)]
    for number, peer in enumerate(peers):
        peer.send(Hello(id=f"web{number}", grains={}))
    for _ in peers:
        controller.wait(Incoming)

    def send(peer: Any) -> None:
        for number in range(400):
            controller.server.send(peer.keys.public, ResultAck(run_id=str(number)))
            assert peer.wait(ResultAck).run_id == str(number)  # with nothing more to wake the server by

    with ThreadPoolExecutor(len(peers)) as threads:
        list(threads.map(send, peers))


def test_beats_reach_everyone_that_was_welcomed(controller: Any) -> None:
    peers = [controller.peer(f"web{number}") for number in range(3)]
    for number, peer in enumerate(peers):
        peer.send(Hello(id=f"web{number}", grains={}))
        controller.wait(Incoming)
        controller.server.send(peer.keys.public, WELCOME)
        peer.wait(HelloAck)
        peer.connection.receive(0)
    controller.wait_count("subscribers", 3)
    controller.server.publish(Heartbeat(epoch="e1", serial=1, time=1.0))
    for peer in peers:
        assert peer.wait(Heartbeat).serial == 1


def test_a_message_for_a_key_that_is_not_there_comes_back_as_gone(controller: Any) -> None:
    controller.server.send("unknown", WELCOME)
    assert controller.wait(Gone) == Gone(key="unknown")
    assert controller.server.counts()["refused.unroutable"] == 1


def test_a_minion_that_leaves_is_gone_at_once(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    web.send(Bye())
    controller.wait(Incoming)
    reconnect(web.connection)
    assert controller.wait(Gone).key == web.keys.public
    assert "connection-dropped" not in controller.server.counts()


def test_a_connection_that_breaks_off_is_counted(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    reconnect(web.connection)
    controller.wait(Gone, key=web.keys.public)
    assert controller.wait_count("connection-dropped") == 1


def test_a_key_that_is_rejected_while_connected_gets_nothing_more(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    controller.server.send(web.keys.public, WELCOME)
    web.wait(HelloAck)
    web.connection.receive(0)
    controller.wait_count("subscribers")
    controller.know(web.keys, "web1", "rejected")

    controller.server.send(web.keys.public, Blob(request=1, oid="a", offset=0, total=6, data=b"secret"))
    assert controller.wait(Refusal).reason == "not-accepted"
    controller.server.publish(Heartbeat(epoch="e1", serial=1, time=1.0))
    web.send(KeepAlive())
    assert controller.wait(Refusal).reason == "not-accepted"
    assert web.wait(Refused).message == "your key is not accepted"
    _until(lambda: controller.server.counts()["subscribers"] == 0)
    controller.server.publish(Heartbeat(epoch="e1", serial=2, time=1.0))
    controller.server.send(web.keys.public, KeyState(state="rejected"))
    found = web.seen
    while not any(isinstance(item, KeyState) for item in found):
        found += web.connection.receive(0.5)[0]
    assert not any(isinstance(item, Heartbeat | Blob) for item in found)


def test_a_disconnected_key_may_come_again_and_is_judged_anew(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    controller.know(web.keys, "web1", "rejected")
    controller.server.disconnect(web.keys.public)
    controller.wait(Gone, key=web.keys.public)
    while not controller.server.counts().get("refused.not-accepted"):
        web.connection.send(KeepAlive())
        web.connection.receive(0.02)
    assert controller.wait(Refusal).reason == "not-accepted"


def test_of_two_connections_of_a_key_the_one_that_is_meant_is_ended(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    first = controller.wait(Incoming)
    reconnect(web.connection)
    web.send(Hello(id="web1", grains={}))
    second = controller.wait(Incoming)
    assert 0 < first.connection < second.connection
    controller.server.disconnect(web.keys.public, connection=first.connection)
    web.send(KeepAlive())
    assert controller.wait(Incoming, connection=second.connection).message == KeepAlive()
    controller.server.disconnect(web.keys.public, connection=second.connection)
    web.wait(Disconnected)


def test_who_exceeded_a_limit_is_let_in_again_after_a_while(controller: Any) -> None:
    web, other = controller.peer("web1"), controller.peer("web2")
    for peer, name in ((web, "web1"), (other, "web2")):
        peer.send(Hello(id=name, grains={}))
        controller.wait(Incoming, id=name)
    began = time.monotonic()
    controller.server.disconnect(web.keys.public, 3.0)
    controller.wait(Gone, key=web.keys.public)
    other.send(KeepAlive())
    controller.wait(Incoming, id="web2")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming, id="web1")
    assert time.monotonic() - began >= 3.0
    assert controller.server.counts()["handshakes-failed"] > 0


def test_a_peer_that_does_not_read_is_disconnected_and_the_others_are_served(controller_with: Any) -> None:
    controller = controller_with(queue_out=4)
    slow, quick = controller.raw(keys := _known(controller, "slow")), controller.peer("quick")
    slow.rcvhwm = 1
    slow.send(_hello("slow"))
    controller.wait(Incoming)
    quick.send(Hello(id="quick", grains={}))
    controller.wait(Incoming)
    chunk = Blob(request=1, oid="a", offset=0, total=1, data=bytes(1024 * 1024))
    for _ in range(200):
        controller.server.send(keys.public, chunk)
    assert controller.wait(Refusal, reason="overflow").key == keys.public
    assert controller.wait(Gone).key == keys.public
    controller.server.send(quick.keys.public, WELCOME)
    assert quick.wait(HelloAck) == WELCOME


def test_two_connections_of_one_key_are_not_served_at_once(controller: Any) -> None:
    first = controller.peer("web1")
    first.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    second = controller.raw(first.keys)
    second.send(_hello("web1"))
    assert controller.wait(Refusal).reason == "superseded"
    assert controller.wait(Incoming).id == "web1"
    first.wait(object)
    controller.server.send(first.keys.public, WELCOME)
    assert second.recv()


def test_a_held_server_reads_nothing_until_it_is_resumed(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    controller.server.hold()
    controller.server.send(web.keys.public, WELCOME)  # whatever comes after this turn of the loop is held
    web.wait(HelloAck)
    web.send(KeepAlive())
    controller.server.send(web.keys.public, WELCOME)
    web.wait(HelloAck)
    assert controller.delivered == []
    controller.server.resume()
    assert controller.wait(Incoming).message == KeepAlive()


def test_a_server_knows_until_when_it_has_read_all(controller: Any) -> None:
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    _until(lambda: controller.server.read_until() >= time.monotonic() - 0.001)
    controller.server.hold()
    until = controller.server.read_until()
    web.send(KeepAlive())
    time.sleep(0.1)
    assert controller.server.read_until() == until < time.monotonic() - 0.09
    controller.server.resume()
    controller.wait(Incoming)
    _until(lambda: controller.server.read_until() > until + 0.1)
    controller.server.stop()
    stopped = time.monotonic()
    assert controller.server.read_until() >= stopped, "nothing comes to a server that does not run"


def test_a_registry_that_fails_costs_one_frame_and_not_the_thread(controller_with: Any, caplog: Any) -> None:
    controller = controller_with()
    web = controller.peer("web1")
    web.send(Hello(id="web1", grains={}))
    controller.wait(Incoming)
    identities, controller.identities = controller.identities, None
    web.send(KeepAlive())
    controller.wait_count("errors")
    controller.identities = identities
    web.send(KeepAlive(held="x"))
    assert controller.wait(Incoming).message == KeepAlive(held="x")
    assert "goes on after an error" in caplog.text


def test_a_port_that_is_taken_is_said_by_name() -> None:
    class Nobody:
        def identity(self, key: str) -> Identity | None:
            return None

    public, secret = (key.decode() for key in zmq.curve_keypair())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        bind = Bind(publish_port=0, request_port=port)
        server = Server(bind, KeyPair(public=public, secret=secret), Nobody(), lambda _: None)
        with pytest.raises(CannotBind, match=f"127.0.0.1:{port}: Address already in use"):
            server.start()
        server.stop()


def test_a_message_that_no_minion_would_read_is_not_sent(controller: Any) -> None:
    blob = Blob(request=1, oid="a", offset=0, total=1, data=bytes(MAX_TO_MINION))
    with pytest.raises(MalformedMessage, match="is the most"):
        controller.server.send("any", blob)


def test_two_hundred_minions_ask_and_are_answered(controller: Any) -> None:
    peers = [controller.peer(f"m{number}") for number in range(200)]
    waiting = list(peers)
    while waiting:
        for peer in waiting:
            peer.seen += peer.connection.receive(0)[0]
        ready = [peer for peer in waiting if peer.connection.connected]
        for peer in ready:
            peer.send(Hello(id=controller.identities[peer.keys.public].id, grains={}))
        waiting = [peer for peer in waiting if peer not in ready]
    for _ in peers:
        heard = controller.wait(Incoming)
        controller.server.send(heard.key, ResultAck(run_id=heard.id))
    for number, peer in enumerate(peers):
        assert peer.wait(ResultAck).run_id == f"m{number}"
    assert controller.server.counts()["peers"] == 200


def test_connections_that_come_and_go_leave_nothing_behind(controller: Any) -> None:
    web = controller.peer("web1")

    def round_trip() -> None:
        web.send(Hello(id="web1", grains={}))
        controller.wait(Incoming)
        controller.server.send(web.keys.public, WELCOME)
        web.wait(HelloAck)
        web.connection.receive(0)

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    for _ in range(3):
        round_trip()
        reconnect(web.connection)
        web.connection.receive(0)
    _until(lambda: controller.server.counts()["connections"] <= 1)
    before = descriptors()
    for _ in range(40):
        round_trip()
        reconnect(web.connection)
        web.connection.receive(0)
    _until(lambda: controller.server.counts()["connections"] <= 1 and controller.server.counts()["peers"] <= 1)
    _until(lambda: descriptors() <= before + 6)


def _known(controller: Any, minion_id: str) -> Any:
    peer = controller.peer(minion_id)
    return peer.keys


def _hello(minion_id: str) -> bytes:
    return encode(Hello(id=minion_id, grains={}))
