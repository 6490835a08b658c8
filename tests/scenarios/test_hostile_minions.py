"""Hostile minions against a whole controller: refused, logged, counted, and everyone else is served."""

import re
import socket
import struct
import urllib.request

import pytest
import zmq
from rig import Rig

from wire.address import Address
from wire.client import Connected, Connection
from wire.keys import KeyPair
from wire.messages import FindFile, GetBlob, Hello, KeyRequest, KeyState, Refused


def new_keys():
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


@pytest.fixture(scope="module")
def rig(make_shared_rig):
    rig = make_shared_rig()
    rig.wait_applied(rig.push("first"))
    return rig


def dial(rig: Rig, keys: KeyPair) -> Connection:
    publish, request = rig.wire_ports
    return Connection(
        Address(host="127.0.0.1", publish_port=publish, request_port=request, controller_key=rig.controller_key), keys
    )


def until(connection, kinds, rounds=200):
    """Messages until one of these kinds comes."""
    seen = []
    for _ in range(rounds):
        seen += connection.receive(0.1)[0]
        if any(isinstance(each, kinds) for each in seen):
            return seen
    raise AssertionError(f"none of {kinds} in {seen}")


def refusals(rig):
    text = urllib.request.urlopen(rig.http + "/metrics").read().decode()
    found = re.findall(r'saltern_wire_refusals_total\{reason="([^"]+)"\} (\S+)', text)
    return {reason: float(count) for reason, count in found}


def still_served(rig):
    number = len(rig.git("log", "--oneline").splitlines())
    old = (rig.work / "pillar/numbers.sls").read_text()
    (rig.work / "pillar/numbers.sls").write_text(re.sub(r"number: \d+", f"number: {number}", old))
    rig.wait_applied(rig.push("still served"))
    for minion in rig.minions:
        assert (rig.root(minion) / "app.conf").read_text() == f"number {number}\n"


def test_an_unaccepted_key_learns_nothing(rig):
    connection = dial(rig, new_keys())
    until(connection, Connected)
    connection.send(Hello(id="web1", grains={}))
    connection.send(FindFile(request=1, path="top.sls"))
    connection.send(GetBlob(request=2, oid="0" * 40))
    seen = until(connection, Refused)
    assert all(isinstance(each, Connected | Refused) for each in seen)
    connection.send(KeyRequest(id="stranger"))
    seen = until(connection, KeyState)
    assert [each.state for each in seen if isinstance(each, KeyState)] == ["pending"]
    connection.close()
    rig.wait("it to be counted", lambda: refusals(rig).get("not-accepted", 0) >= 1)
    assert "not-accepted" in rig.log("controller", 200)
    still_served(rig)


def test_a_minion_that_lies_about_its_id(rig):
    keys = new_keys()
    connection = dial(rig, keys)
    until(connection, Connected)
    connection.send(KeyRequest(id="liar"))
    until(connection, KeyState)
    rig.saltern("key", "accept", "liar", "--yes")
    connection.send(Hello(id="db1", grains={"roles": ["db"]}))
    seen = until(connection, Refused)
    assert not any(type(each).__name__ in ("HelloAck", "DesiredUpdate", "Run") for each in seen)
    connection.close()
    rig.wait("it to be counted", lambda: refusals(rig).get("id-mismatch", 0) >= 1)
    assert rig.status()["db1"]["connected"]
    still_served(rig)


def test_another_key_for_an_id_that_is_taken(rig):
    connection = dial(rig, new_keys())
    until(connection, Connected)
    connection.send(KeyRequest(id="WEB1"))
    until(connection, (KeyState, Refused))
    connection.close()
    done = rig.saltern("key", "accept", "WEB1", "--yes", check=False)
    assert done.returncode != 0
    still_served(rig)


def test_frames_that_are_malformed_or_claim_a_gigabyte(rig):
    _, request = rig.wire_ports
    context = zmq.Context()
    keys = new_keys()
    raw = context.socket(zmq.DEALER)
    raw.setsockopt(zmq.LINGER, 0)
    raw.setsockopt(zmq.ROUTING_ID, b"0123456789abcdef")
    raw.curve_serverkey = rig.controller_key.encode()
    raw.curve_publickey, raw.curve_secretkey = keys.public.encode(), keys.secret.encode()
    raw.connect(f"tcp://127.0.0.1:{request}")
    raw.send(b"\xc1 this is no message")
    raw.send(b"x" * (80 * 1024 * 1024))
    with socket.create_connection(("127.0.0.1", request)) as plain:
        plain.sendall(b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f" + b"\x03" + b"\x00" * 53)
        plain.sendall(b"\x06" + struct.pack(">Q", 1 << 30) + b"x" * 65536)
        still_served(rig)
    rig.wait("it to be counted", lambda: refusals(rig))
    raw.close()
    context.destroy(linger=0)
    still_served(rig)
