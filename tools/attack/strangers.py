"""Attacks by anybody who reaches the ports: with the controller's public key, or without any."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

import zmq

from tools.attack.attacks import Attack, Running
from tools.attack.scene import HOST, Scene, new_key
from tools.attack.tampering import TamperingRelay
from tools.attack.zmtp_curve import CurveClient, HandshakeBroken
from wire.codec import encode
from wire.keys import KeyPair
from wire.messages import KeyRequest

MIB = 1024 * 1024
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(15) + b"\x00" + bytes(31)


def many_frames(scene: Scene, running: Running) -> None:
    """64 MiB in frames of 16 bytes that are one message, from keys that are not accepted. The message ends."""
    while running():
        opened = scene.dealer(new_key())
        for _ in range(64 * MIB // 16):
            opened.send(b"x" * 16, zmq.SNDMORE)
        opened.send(b"")
        for _ in range(50):
            if not running():
                break
            time.sleep(0.1)
        opened.close(linger=0)


def endless_frames(scene: Scene, running: Running) -> None:
    """Frames of 16 bytes of messages that never end, one by one, on 50 connections with keys that are not accepted."""
    opened: list[CurveClient] = []
    while running():
        if len(opened) < 50:
            try:
                opened.append(CurveClient(HOST, scene.request_port, scene.controller_key, new_key()))
            except (OSError, HandshakeBroken):
                time.sleep(0.1)
        for client in tuple(opened):
            try:
                client.send_frame(b"x" * 16, more=True)
            except OSError:
                client.close()
                opened.remove(client)
    for client in opened:
        client.close()


def unfinished_frames(scene: Scene, running: Running) -> None:
    """60 connections without a key; each begins a frame of 16 MiB and never ends it."""
    header = b"\x06" + (16 * MIB).to_bytes(8, "big")
    opened = []
    for _ in range(60):
        connection = socket.create_connection((HOST, scene.request_port), timeout=5)
        try:
            connection.sendall(_GREETING)
            connection.recv(64)
            connection.sendall(header)
            connection.sendall(b"x" * (16 * MIB - 1))
        except OSError:  # it was cut off, which is what should happen
            connection.close()
            continue
        opened.append(connection)
        if not running():
            break
    _wait(running)


def half_handshakes(scene: Scene, running: Running) -> None:
    """Connections that say nothing, as fast as they are taken."""
    opened: list[socket.socket] = []
    while running():
        try:
            opened.append(socket.create_connection((HOST, scene.request_port), timeout=1))
        except OSError:
            time.sleep(0.1)
        if len(opened) > 3000:
            opened.pop(0).close()


def key_requests(scene: Scene, running: Running) -> None:
    """New keys that ask for ids, and ask again, as fast as they are answered."""
    opened: list[tuple[KeyPair, zmq.Socket[bytes], str]] = []
    number = 0
    while running():
        if len(opened) < 400:
            keys = new_key()
            opened.append((keys, scene.dealer(keys), f"stranger{number}"))
            number += 1
        for _, dealer, name in opened:
            try:
                dealer.send(encode(KeyRequest(id=name)), zmq.NOBLOCK)
            except zmq.Again:
                continue
        if number % 400 == 0 and len(opened) == 400:
            for _, dealer, _ in opened[:100]:
                dealer.close(linger=0)
            del opened[:100]


def many_pending_keys(scene: Scene, running: Running) -> None:
    """5,000 key requests of 400 keys, while 10,000 keys wait; and `saltern key list` again and again."""
    dealers = [scene.dealer(new_key()) for _ in range(400)]
    asked = 0
    while running() and asked < 5000:
        for number, dealer in enumerate(dealers):
            try:
                dealer.send(encode(KeyRequest(id=f"stranger{number}")), zmq.NOBLOCK)
            except zmq.Again:
                continue
            asked += 1
        scene.ask("GET", "/keys")
    _wait(running)


def garbage(scene: Scene, running: Running) -> None:
    """Bytes that are no message, with the public key, on many connections."""
    dealers = [scene.dealer(new_key()) for _ in range(50)]
    while running():
        for at, dealer in enumerate(dealers):
            try:
                dealer.send(b"\xc1" * 4000, zmq.NOBLOCK)
            except zmq.Again:
                dealer.close(linger=0)
                dealers[at] = scene.dealer(new_key())


def broken_message(scene: Scene, running: Running) -> None:
    """Complete handshakes, each with a message whose authentication code is wrong; then the connection is closed."""
    relay = TamperingRelay(scene.request_port)
    while running():
        dealers = [scene.dealer(new_key(), port=relay.port) for _ in range(10)]
        for number, dealer in enumerate(dealers):
            dealer.send(encode(KeyRequest(id=f"broken{number}")))
        time.sleep(0.5)
        for dealer in dealers:
            dealer.close(linger=0)
    relay.close()
    if not relay.broken:
        raise AssertionError("no message was broken on its way")


def slow_http(scene: Scene, running: Running) -> None:
    """Requests to the HTTP port that come byte by byte, and webhooks with bodies that never end."""
    opened: list[socket.socket] = []
    while running():
        try:
            connection = socket.create_connection((HOST, scene.http_port), timeout=1)
            connection.sendall(b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
            opened.append(connection)
        except OSError:
            time.sleep(0.05)
        for one in opened[-20:]:
            try:
                one.send(b" ")
            except OSError:
                opened.remove(one)


def _wait(running: Running) -> None:
    while running():
        time.sleep(0.1)


ATTACKS: Mapping[str, Attack] = {
    "many-frames": Attack("64 MiB in 16-byte frames of one message", many_frames),
    "endless-frames": Attack("16-byte frames of messages that never end, on 50 connections", endless_frames),
    "unfinished-frames": Attack("60 sockets without a key, each with an unfinished frame of 16 MiB", unfinished_frames),
    "half-handshakes": Attack("thousands of connections that say nothing", half_handshakes),
    "key-requests": Attack("new keys that ask to be accepted, again and again", key_requests),
    "pending-keys": Attack(
        "5,000 key requests while 10,000 keys wait", many_pending_keys, pending_keys=10_000, api_seconds=0.3
    ),
    "garbage": Attack("frames that are no messages, on 50 connections", garbage),
    "broken-message": Attack("messages with a wrong authentication code after a complete handshake", broken_message),
    "slow-http": Attack("requests to the HTTP port that never end", slow_http),
}
