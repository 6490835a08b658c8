"""Attacks through the controller's own socket: programs of people who may use it, and that go wrong."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

from tools.attack.attacks import Attack, Running
from tools.attack.scene import Scene


def slow_requests(scene: Scene, running: Running) -> None:
    """Hundreds of requests to the API that are never finished."""
    opened: list[socket.socket] = []
    while running():
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(scene.socket))
            connection.sendall(b"POST /api/v1/call HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            opened.append(connection)
        except OSError:
            connection.close()
            time.sleep(0.05)
        if len(opened) >= 200:
            time.sleep(0.2)
            opened = [one for one in opened if _is_open(one)]


def unread_answers(scene: Scene, running: Running) -> None:
    """Askers that follow all events and read nothing."""
    opened = []
    for _ in range(50):
        connection = socket.socket(socket.AF_UNIX)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.connect(str(scene.socket))
        connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        opened.append(connection)
    while running():
        time.sleep(0.1)


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


ATTACKS: Mapping[str, Attack] = {
    "slow-requests": Attack("requests to the API that never end", slow_requests),
    "unread-answers": Attack("50 askers that follow the events and read nothing", unread_answers),
}
