"""A relay in a thread, between a server and minions, over real sockets on this machine."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import zmq

from wire.address import Address, Bind
from wire.client import Timing
from wire.codec import decode_to_minion, encode
from wire.keys import KeyPair
from wire.limits import WireLimits
from wire.messages import FromRelay, KeyState, RelayedFrame, ToController, ToMinion, ToRelay
from wire.relay.relay import Relay
from wire.sealed.channel_frames import DATA, OPEN, SessionOpened, channel_frame
from wire.sealed.minion_end import MinionEnd
from wire.server.types import Identity, Incoming

TIMING = Timing(retry_first=0.02, retry_most=0.2, retry_unwelcome=0.2)


class RunningRelay:
    """A relay that runs when this has been made.

    Args:
        controller: where it connects to.
        keys: its own; new ones otherwise.
        name: under which the controller knows it.
        port: where it listens; any free one otherwise.
        borders: limits of what minions cost it.
    """

    def __init__(
        self,
        controller: Address,
        keys: KeyPair | None = None,
        *,
        name: str = "relay1",
        port: int = 0,
        borders: WireLimits | None = None,
    ) -> None:
        self.controller, self.keys, self._name = controller, keys or _new_keys(), name
        bind = Bind(publish_port=None, request_port=port)
        self.relay = Relay(name, bind, controller, self.keys, borders=borders, timing=TIMING)
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
        controller.identities[self.keys.public] = Identity(id=self._name, state="accepted", role="relay")
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


class LyingRelay:
    """A relay whose key is accepted, and that sends to the controller whatever a test says.

    Args:
        controller: of `tests/wire/conftest.py`.
        name: under which the controller knows it.
    """

    def __init__(self, controller: Any, name: str = "liar") -> None:
        self.keys, self._controller = _new_keys(), controller
        controller.identities[self.keys.public] = Identity(id=name, state="accepted", role="relay")
        self.socket = controller.raw(self.keys)
        self.channels = itertools.count()
        self.taken = 0

    def send(self, *frames: RelayedFrame, taken: int | None = None) -> None:
        """One message of these frames."""
        self.socket.send(encode(FromRelay(frames=frames, taken=self.taken if taken is None else taken)))

    def read(self) -> tuple[RelayedFrame, ...]:
        """The frames of the next message."""
        message = decode_to_minion(self.socket.recv())
        assert isinstance(message, ToRelay), message
        self.taken += sum(len(frame.data) + 256 for frame in message.frames)
        return message.frames

    def minion(self, minion: str = "", keys: KeyPair | None = None) -> CarriedMinion:
        """A minion behind it, accepted when it has an id, whose session is open."""
        made = CarriedMinion(self, self._controller, keys or _new_keys())
        if minion:
            self._controller.know(made.keys, minion)
        self.send(made.open_frame())
        frames = self.read()
        assert [(frame.channel, frame.kind) for frame in frames] == [(made.channel, "open")]
        assert made.end.take(channel_frame(OPEN, frames[0].data)) == SessionOpened()
        return made


class CarriedMinion:
    """A minion whose frames a test carries.

    Args:
        relay: that carries them.
        controller: of the tests.
        keys: of the minion.
    """

    def __init__(self, relay: LyingRelay, controller: Any, keys: KeyPair) -> None:
        self.keys, self._relay = keys, relay
        self.end = MinionEnd(keys, controller.keys.public, relay.keys.public)
        self.channel = next(relay.channels)
        self.opening = self.end.opening()[1:]

    def open_frame(self, channel: int | None = None) -> RelayedFrame:
        """That opens its session."""
        return RelayedFrame(self.channel if channel is None else channel, "open", self.opening)

    def frame(self, message: ToController) -> RelayedFrame:
        """The next frame of its session."""
        return RelayedFrame(self.channel, "data", self.end.seal(encode(message))[1:])

    def received(self, frame: RelayedFrame) -> ToMinion:
        """The message in a frame."""
        taken = self.end.take(channel_frame(DATA, frame.data))
        assert isinstance(taken, bytes | bytearray), taken
        return decode_to_minion(taken)
