"""What minions and their controller get from a relay that means well."""

from __future__ import annotations

from typing import Any

from relays import MakeRelay, RunningRelay

from wire.client import Connected, Disconnected, HandshakeFailed
from wire.messages import Blob, Bye, Hello, HelloAck, KeyRequest, KeyState, RunResult
from wire.server.types import Gone, Incoming, Refusal


def connect(controller: Any, relay: RunningRelay, minion: str, **options: Any) -> Any:
    """An accepted minion behind the relay that has said Hello."""
    peer = controller.peer(minion, address=relay.address(), **options)
    peer.wait(Connected)
    peer.send(KeyRequest(id=minion))
    controller.wait(Incoming, key=peer.keys.public)
    return peer


def test_messages_go_both_ways_and_name_the_relay(controller: Any, relay: RunningRelay) -> None:
    minions = [connect(controller, relay, f"web{number}") for number in range(3)]
    for number, minion in enumerate(minions):
        minion.send(Hello(id=f"web{number}", grains={"number": number}))
        got = controller.wait(Incoming, id=f"web{number}")
        assert (got.relay, got.key, got.message.grains) == ("relay1", minion.keys.public, {"number": number})
        controller.server.send(minion.keys.public, HelloAck(epoch=f"e{number}", alive_interval=5.0))
        assert minion.wait(HelloAck).epoch == f"e{number}"
    assert controller.server.counts()["peers"] == 4  # with the relay
    (counts,) = controller.server.relays()
    assert (counts.relay, counts.minions, counts.waiting_bytes) == ("relay1", 3, 0)
    assert counts.frames_in >= 9
    assert counts.frames_out >= 6


def test_large_messages_arrive_whole_and_in_their_order(controller: Any, relay: RunningRelay) -> None:
    minion = connect(controller, relay, "web1")
    blobs = [bytes([number]) * size for number, size in enumerate((3_000_000, 10, 65_536, 1_000_000))]
    for number, data in enumerate(blobs):
        message = Blob(request=number, oid="o", offset=0, total=len(data), data=data)
        controller.server.send(minion.keys.public, message)
    assert [minion.wait(Blob).data for _ in blobs] == blobs
    result = RunResult(run_id="r", kind="call", generation=0, digest="", outcome="ok", value="x" * 3_000_000)
    minion.send(result)
    assert controller.wait(Incoming, id="web1").message == result


def test_a_key_that_is_not_accepted_asks_and_is_known_by_its_relay(controller: Any, relay: RunningRelay) -> None:
    minion = controller.peer(address=relay.address())
    minion.wait(Connected)
    minion.send(KeyRequest(id="web1"))
    asked = controller.wait(Incoming)
    assert (asked.id, asked.key, asked.address, asked.relay) == (None, minion.keys.public, "relay relay1", "relay1")
    controller.server.send(minion.keys.public, KeyState(state="pending"))
    assert minion.wait(KeyState).state == "pending"
    minion.send(Hello(id="web1", grains={}))
    assert controller.wait(Refusal).reason == "not-accepted"
    controller.know(minion.keys, "web1")
    controller.server.send(minion.keys.public, KeyState(state="accepted"))
    minion.wait(KeyState)
    minion.send(Hello(id="web1", grains={"text": "x" * 100_000}))  # more than a stranger may send
    assert controller.wait(Incoming, id="web1").message.grains["text"]


def test_minions_wait_until_the_relay_is_accepted(controller: Any, relay_with: MakeRelay) -> None:
    relay = relay_with(accept=False)
    minion = controller.peer("web1", address=relay.address())
    asked = controller.wait(Incoming, key=relay.keys.public)
    assert (asked.message.id, asked.message.role) == ("relay1", "relay")
    controller.server.send(relay.keys.public, KeyState(state="pending"))
    relay.accept(controller)
    minion.wait(Connected)


def test_who_leaves_is_gone(controller: Any, relay: RunningRelay) -> None:
    polite, sudden = connect(controller, relay, "web1"), connect(controller, relay, "web2")
    polite.send(Bye())
    controller.wait(Incoming, id="web1", message=Bye())
    polite.connection.close()
    controller.wait(Gone, key=polite.keys.public)
    sudden.connection.close()
    controller.wait(Gone, key=sudden.keys.public)


def test_a_killed_relay_loses_its_minions_alone_and_they_come_back(controller: Any, relay_with: MakeRelay) -> None:
    relay = relay_with()
    direct, behind = controller.peer("web1"), connect(controller, relay, "web2")
    direct.wait(Connected)
    direct.send(KeyRequest(id="web1"))
    controller.wait(Incoming, id="web1")
    relay.stop()
    controller.wait(Gone, key=behind.keys.public)
    behind.wait(Disconnected)
    relay_with(keys=relay.keys, port=relay.port)
    behind.wait(Connected)
    behind.send(KeyRequest(id="web2"))
    assert controller.wait(Incoming, id="web2").relay == "relay1"
    assert Gone(key=direct.keys.public) not in controller.delivered


def test_a_restarted_controller_has_all_of_them_again(controller: Any, relay: RunningRelay) -> None:
    minion = connect(controller, relay, "web1")
    controller.restart()
    minion.wait(Disconnected)
    relay.accept(controller)
    minion.wait(Connected)
    minion.send(KeyRequest(id="web1"))
    controller.wait(Incoming, id="web1")


def test_a_minion_that_expects_another_controller_is_told(controller: Any, relay: RunningRelay) -> None:

    wrong = controller.peer("web1", address=relay.address(controller_key=relay.keys.public))

    assert "another key than `controller_key`" in wrong.wait(HandshakeFailed).reason


def test_ending_a_key_ends_its_session(controller: Any, relay: RunningRelay) -> None:
    minion, other = connect(controller, relay, "web1"), connect(controller, relay, "web2")
    controller.server.disconnect(minion.keys.public)
    minion.wait(Disconnected)
    other.send(KeyRequest(id="web2"))
    controller.wait(Incoming, id="web2")


def test_the_way_that_a_minion_has_come_by_last_counts(controller: Any, relay_with: MakeRelay) -> None:
    """By a relay, directly, by another relay: one connection of a key is good, and the one before is ended."""
    first, second = relay_with(), relay_with(name="relay2")
    before = connect(controller, first, "web1")
    for number, way in enumerate((controller.address, second.address(), first.address(), controller.address)):
        peer = controller.peer("web1", keys=before.keys, address=way)
        peer.wait(Connected)
        peer.send(Hello(id="web1", grains={"way": number}))
        got = controller.wait(Incoming, id="web1")
        assert got.message.grains == {"way": number}
        assert got.relay == {second.port: "relay2", first.port: "relay1"}.get(way.request_port, "")
        before.wait(Disconnected)
        before.connection.close()
        controller.server.send(peer.keys.public, HelloAck(epoch=str(number), alive_interval=5.0))
        assert peer.wait(HelloAck).epoch == str(number)
        before = peer


def test_a_large_result_of_many_minions_at_once_arrives(controller: Any, relay: RunningRelay) -> None:
    minions = [connect(controller, relay, f"web{number}") for number in range(8)]
    results = [
        RunResult(run_id=f"r{number}", kind="call", generation=0, digest="", outcome="ok", value="x" * 2_000_000)
        for number in range(len(minions))
    ]
    for minion in minions:
        controller.server.send(minion.keys.public, KeyState(state="accepted"))
        minion.wait(KeyState)  # the relay has heard of it before
    for minion, result in zip(minions, results, strict=True):
        minion.send(result)
    for number, result in enumerate(results):
        assert controller.wait(Incoming, id=f"web{number}").message == result
