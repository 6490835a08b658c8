"""Attacks on the ports of a gateway: by anybody, and by a stock minion whose key is accepted.

Attackers come from another address than the honest minion, so that what is bounded for an address can tell them apart.
Single requests that must be refused are tried in `tests/scenarios/test_gateway_strangers.py`; these are floods.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

import zmq
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from salt_peer import SaltPeer

from gateway.protocol.crypticle import Crypticle, new_key
from gateway.protocol.packing import pack
from tools.attack.attacks import Attack, Running
from tools.attack.scene import HOST, Scene

MIB = 1024 * 1024
FROM = "127.0.0.2"
"""Address of attackers."""
HONEST = "honest"
"""Id of the stock minion that they want to keep from its master."""
HOSTILE_STOCK = "mallory-stock"
"""Id of the accepted stock minion that they have."""
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + b"\x00" + bytes(31)
_READY = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03REQ"
_READY_SUB = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"


def _flood(scene: Scene, running: Running, make: Callable[[int], bytes], *, connections: int = 20) -> None:
    """Requests as fast as they are taken, over many connections; answers are read and dropped."""
    context = zmq.Context.instance()
    opened: list[zmq.Socket[bytes]] = []
    for _ in range(connections):
        dealer = context.socket(zmq.DEALER)
        dealer.set(zmq.LINGER, 0)
        dealer.set(zmq.SNDHWM, 20)
        dealer.connect(f"tcp://{FROM}:0;{HOST}:{scene.gateway_port}")
        opened.append(dealer)
    for number in itertools.count():
        if not running():
            break
        dealer = opened[number % connections]
        try:
            dealer.send_multipart([b"", make(number)], zmq.NOBLOCK)
        except zmq.Again:
            time.sleep(0.001)
        while dealer.poll(0):
            dealer.recv_multipart()
    for dealer in opened:
        dealer.close(linger=0)


def garbage(scene: Scene, running: Running) -> None:
    """Frames that are no requests."""
    kinds = (b"", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\x91" * 100_000, os.urandom(1000), pack({"enc": "aes"}))
    _flood(scene, running, lambda number: kinds[number % len(kinds)])


def shown_keys(scene: Scene, running: Running) -> None:
    """New keys for new ids, each of which costs a signature and a connection to the controller."""
    keys = [_pem(rsa.generate_private_key(65537, 2048)) for _ in range(5)]

    def make(number: int) -> bytes:
        return _auth(f"stranger{number}", keys[number % len(keys)])

    _flood(scene, running, make)


def known_key(scene: Scene, running: Running) -> None:
    """The public key of the honest minion, which is no secret, again and again: an answer costs milliseconds."""
    pem = (scene.folder / f"{HONEST}.pub").read_text()
    _flood(scene, running, lambda number: _auth(HONEST, pem, token=os.urandom(256)))


def forged_requests(scene: Scene, running: Running) -> None:
    """Requests in the name of the honest minion, of 1 MiB, sealed by chance: each has to be read to its end."""
    sealed = Crypticle(new_key()).seal({"cmd": "_pillar", "x": b"x" * MIB})
    frame = pack({"enc": "aes", "version": 3, "id": HONEST, "load": sealed})
    _flood(scene, running, lambda number: frame)


def unfinished_frames(scene: Scene, running: Running) -> None:
    """60 connections; each begins a request of 16 MiB and never ends it."""
    opened: list[socket.socket] = []
    while running():
        if len(opened) >= 60:
            opened.pop(0).close()
        try:
            connection = _connection(scene.gateway_port, _READY)
            opened.append(connection)
            connection.sendall(b"\x01\x00\x02" + (16 * MIB).to_bytes(8, "big"))
            connection.sendall(b"x" * (16 * MIB - 1))
        except OSError:  # it was cut off, which is what should happen
            time.sleep(0.01)
    for connection in opened:
        connection.close()


def silent_connections(scene: Scene, running: Running) -> None:
    """Connections to the port of requests that say nothing after their handshake, as fast as they are taken."""
    _pile_up(running, lambda: _connection(scene.gateway_port, _READY))


def subscribers(scene: Scene, running: Running) -> None:
    """Subscribers that never read, as fast as they are taken."""
    _pile_up(running, lambda: _connection(scene.gateway_publish_port, _READY_SUB, b"\x00\x01\x01"))


def subscriptions(scene: Scene, running: Running) -> None:
    """A subscriber with subscriptions without end, again and again."""
    while running():
        # It is cut off, which is what should happen.
        with contextlib.suppress(OSError), _connection(scene.gateway_publish_port, _READY_SUB) as connection:
            for number in itertools.count():
                connection.sendall(b"\x00\x65\x01" + f"{number:0100d}".encode())
                if not running():
                    break
        time.sleep(0.05)


def many_requests(scene: Scene, running: Running) -> None:
    """An accepted minion that asks for lists of files, as fast as it is answered, over 20 connections."""
    _by_minion(scene, running, lambda peer, number: peer.frame("_file_list", saltenv="base", prefix=f"a{number}"))


def large_returns(scene: Scene, running: Running) -> None:
    """An accepted minion that returns jobs that there are not, with a hundred thousand values each."""
    value = {f"k{number}": [number, "x", None] for number in range(25_000)}

    def make(peer: SaltPeer, number: int) -> bytes:
        return peer.frame(
            "_return", jid=f"2026{number:016d}", fun="test.arg", retcode=0, success=True, **{"return": value}
        )

    _by_minion(scene, running, make)


def many_events(scene: Scene, running: Running) -> None:
    """An accepted minion that fires events without end."""

    def make(peer: SaltPeer, number: int) -> bytes:
        events = [{"tag": f"custom/{number}/{each}", "data": {"x": "y" * 100}} for each in range(100)]
        return peer.frame("_minion_event", events=events, pretag=None)

    _by_minion(scene, running, make)


def _by_minion(scene: Scene, running: Running, make: Callable[[SaltPeer, int], bytes]) -> None:
    with SaltPeer(scene.folder, HOSTILE_STOCK, scene.gateway_port, source=FROM) as peer:
        peer.authenticate()
        _flood(scene, running, lambda number: make(peer, number))


def _auth(minion: str, pem: str, **more: Any) -> bytes:
    load = {"cmd": "_auth", "id": minion, "nonce": os.urandom(16).hex(), "pub": pem, **more}
    return pack({"enc": "clear", "version": 3, "load": load})


def _pem(key: rsa.RSAPrivateKey) -> str:
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return public.decode()


def _connection(port: int, *said: bytes) -> socket.socket:
    """A connection that has made the handshake of ZMTP, and then said something."""
    connection = socket.create_connection((HOST, port), timeout=5, source_address=(FROM, 0))
    connection.settimeout(0.5)
    connection.sendall(_GREETING)
    for each in said:
        connection.sendall(each)
    return connection


def _pile_up(running: Running, connect: Callable[[], socket.socket]) -> None:
    opened: list[socket.socket] = []
    while running():
        try:
            opened.append(connect())
        except OSError:
            time.sleep(0.05)
        if len(opened) > 3000:
            opened.pop(0).close()
    for connection in opened:
        connection.close()


ATTACKS: Mapping[str, Attack] = {
    "garbage": Attack("frames that are no requests", garbage, gateway=True),
    "shown-keys": Attack("new keys for new ids, without end", shown_keys, gateway=True),
    "known-key": Attack("the public key of another minion, again and again", known_key, gateway=True),
    "forged-requests": Attack("requests of 1 MiB in the name of another minion", forged_requests, gateway=True),
    "unfinished-frames": Attack(
        "60 connections, each with an unfinished request of 16 MiB", unfinished_frames, gateway=True
    ),
    "silent-connections": Attack("thousands of connections that ask for nothing", silent_connections, gateway=True),
    "subscribers": Attack("thousands of subscribers that never read", subscribers, gateway=True),
    "subscriptions": Attack("subscriptions without end", subscriptions, gateway=True),
    "many-requests": Attack("requests of an accepted minion without pause", many_requests, gateway=True),
    "large-returns": Attack("returns with 100,000 values, of jobs that there are not", large_returns, gateway=True),
    "many-events": Attack("events of an accepted minion without end", many_events, gateway=True),
}
