"""A relay in a thread, between a server and minions, over real sockets on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import zmq

from wire.address import Address, Bind
from wire.client import Timing
from wire.keys import KeyPair
from wire.limits import WireLimits
from wire.messages import KeyState
from wire.relay.relay import Relay
from wire.server.types import Identity, Incoming

TIMING = Timing(retry_first=0.02, retry_most=0.2)


class RunningRelay:
    """A relay that runs when this has been made.

    Args:
        controller: where it connects to.
        keys: its own; new ones otherwise.
        port: where it listens; any free one otherwise.
        borders: limits of what minions cost it.
    """

    def __init__(
        self, controller: Address, keys: KeyPair | None = None, *, port: int = 0, borders: WireLimits | None = None
    ) -> None:
        self.controller, self.keys = controller, keys or _new_keys()
        bind = Bind(publish_port=None, request_port=port)
        self.relay = Relay("relay1", bind, controller, self.keys, borders=borders, timing=TIMING)
        self.port = self.relay.port
        self._thread = threading.Thread(target=self.relay.run, daemon=True)
        self._thread.start()

    def address(self, **changes: Any) -> Address:
        """Where minions find the controller."""
        values: dict[str, Any] = {
            "request_port": self.port,
            "controller_key": self.controller.controller_key,
            "relay_key": self.keys.public,
        }
        return Address(host="127.0.0.1", **values | changes)

    def accept(self, controller: Any) -> None:
        """Have the controller of `tests/wire/conftest.py` accept it, and say so when it asks."""
        controller.identities[self.keys.public] = Identity(id="relay1", state="accepted", role="relay")
        controller.wait(Incoming, key=self.keys.public)
        controller.server.send(self.keys.public, KeyState(state="accepted"))

    def stop(self) -> None:
        """End it, as a killed process ends."""
        if self._thread.is_alive():
            self.relay.stop()
            self._thread.join()


MakeRelay = Callable[..., RunningRelay]


def _new_keys() -> KeyPair:
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())
