"""Connections to a rig's controller by keys of the test's own, which send and read what the test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import zmq
from rig import Rig

from wire.address import Address
from wire.client import Connected, Connection
from wire.keys import KeyPair


def new_keys() -> KeyPair:
    """A CURVE key that nobody knows."""
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


class Stranger:
    """One connection of a key; it is connected when this has been made."""

    def __init__(self, rig: Rig, keys: KeyPair | None = None, *, controller_key: str | None = None) -> None:
        publish, request = rig.wire_ports
        self.keys = keys or new_keys()
        self._rig = rig
        self._connection = Connection(
            Address(
                host="127.0.0.1",
                publish_port=publish,
                request_port=request,
                controller_key=controller_key or rig.controller_key,
            ),
            self.keys,
        )
        self.seen: list[Any] = []

    def connect(self) -> Stranger:
        """Wait for the connection."""
        self.wait(Connected)
        return self

    def send(self, message: Any) -> None:
        """Send as soon as there is a connection."""
        self._rig.wait("room for a message", lambda: self._read() or self._connection.send(message))

    def wait(self, kind: type[Any], meant: Callable[[Any], bool] = lambda message: True) -> Any:
        """The first message of a kind that is meant, waited for; it is taken away."""

        def found() -> Any:
            self._read()
            return next((each for each in self.seen if isinstance(each, kind) and meant(each)), None)

        message = self._rig.wait(f"a {kind.__name__}", found)
        self.seen.remove(message)
        return message

    def ask(self, message: Any, kind: type[Any]) -> Any:
        """Send, and wait for an answer of a kind."""
        self.send(message)
        return self.wait(kind)

    def _read(self) -> None:
        self.seen += self._connection.receive(0.02)[0]

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
