"""A stock minion's connection to the controller: with a key of its own, as any minion has one.

The controller knows no gateway: it sees minions. What is said is the session of the agent
(`minion.agent.controllers.session`), but that nothing is told of a minion before it has said its grains.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import zmq
from zmq.utils import z85

from gateway.controllers import ControllerPlaces
from gateway.own_key import OwnKey
from gateway.protocol.rsa_keys import GatewayKey, salt_fingerprint
from minion.agent.controllers.controller_keys import ControllerKeys
from minion.agent.controllers.key_rotation import KeyRotation
from minion.agent.controllers.session import AgentSession, SessionPorts
from wire.client import Connected, Connection, ConnectionEvent, Disconnected, HandshakeFailed
from wire.keys import KeyPair, fingerprint
from wire.messages import (
    AliveInterval,
    Bye,
    Heartbeat,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    NextControllerKey,
    Refused,
    RotateKey,
    ToController,
    ToMinion,
)

FOLLOW_SECONDS = 1.0
"""Within which the connections of all minions follow to another controller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSide:
    """What all connections of a gateway to its controller have in common.

    Args:
        places: of the controllers.
        context: of zmq, of the whole process.
        keys: which the controller may prove: the one of the configuration, or what it has announced since.
        own: vouches for keys of minions.
        shared: the key that several gateways have in common, by which they know minions by the same keys; None: there
            is one gateway.
    """

    places: ControllerPlaces
    context: zmq.Context[zmq.Socket[bytes]]
    keys: ControllerKeys
    own: OwnKey
    shared: GatewayKey | None = None

    def minion_keys(self, minion_id: str, pem: str) -> KeyPair:
        """The key by which the controller knows a minion, until it asks for another."""
        if self.shared is None:
            return self.own.minion_keys(minion_id, pem)
        secret = z85.encode(self.shared.derived(b"minion\0" + minion_id.encode() + b"\0" + pem.encode()))
        return KeyPair(public=zmq.curve_public(secret).decode("ascii"), secret=secret.decode("ascii"))


async def take_nothing(_: ToMinion) -> None:
    """For a link that shows a key, and serves no minion."""


class StockLink:
    """The connection.

    Args:
        minion_id: of the minion.
        side: see `ControllerSide`.
        keys: of the minion there.
        pem: the RSA key that it has shown; empty: it is the gateway itself.
        folder: of `keys`, where the controller may have them rotated; None: it may not.
        key_request: see `SessionPorts`; so are `hello` and `keep_alive`.
        hello: None: it cannot be said yet; `ready` tells when it can.
        keep_alive: what a sign of life says.
        take: gets all that the session is not about, one after the other.
        lost: is told that a connection is over.
        unaccepted: is told that the controller does not accept the key, or no more.
        heard: is told of all that comes, of the link that finds out which controller is used; None: it follows.
    """

    def __init__(
        self,
        minion_id: str,
        side: ControllerSide,
        keys: KeyPair,
        *,
        pem: str = "",
        folder: Path | None = None,
        key_request: Callable[[bool], KeyRequest],
        hello: Callable[[], Hello | None],
        keep_alive: Callable[[], KeepAlive],
        take: Callable[[ToMinion], Awaitable[None]],
        lost: Callable[[], None] = lambda: None,
        unaccepted: Callable[[], None] = lambda: None,
        heard: Callable[[ToMinion | ConnectionEvent], None] | None = None,
    ) -> None:
        self._side = side
        self._pem = pem
        self._rotation = None if folder is None else KeyRotation(folder, folder, self._use_keys)
        keys = keys if self._rotation is None else self._rotation.begin()
        self._controller_key = side.keys.known[0]
        """Which the connection expects."""
        self._address = side.places.address
        self._heard = heard
        timing = side.places.timing if heard is None else side.places.own_timing
        self._connection = Connection(self._address, keys, timing=timing, context=side.context)
        self._connection.change_controller_key(self._controller_key)
        self._key_request = key_request
        self._hello = hello
        self._take = take
        self._unaccepted = unaccepted
        self._lost = lost
        self._speaks = True
        ports = SessionPorts(
            send=self._send_of_session, key_request=self._vouched_request, hello=self._said_hello, keep_alive=keep_alive
        )
        self._session = AgentSession(minion_id, salt_fingerprint(pem) if pem else fingerprint(keys.public), ports)
        self._id = minion_id
        self._keys = keys
        self._woken = asyncio.Event()
        self._watched: dict[zmq.Socket[bytes], int] = {}
        self._key_state = ""
        self._changed = asyncio.Condition()

    @property
    def online(self) -> bool:
        """Whether the controller knows that the minion is there."""
        return self._session.online

    @property
    def key_state(self) -> str:
        """What the controller has said last of the minion's key: `accepted`, `pending`, `rejected`, or nothing yet."""
        return self._key_state

    async def known_key_state(self, seconds: float) -> str:
        """The same, once something is known; empty when nothing is after so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self._key_state)
        return self._key_state

    def send(self, message: ToController) -> bool:
        """Say something; False when it cannot be said now."""
        sent = self.online and self._connection.send(message)
        self._woken.set()
        return sent

    def ready(self) -> None:
        """The grains are known, or have changed so much that all is to be said anew."""
        if self._connection.connected and self._key_state == "accepted":
            self._session.send_hello(time.monotonic())
        self._woken.set()

    def tell_again(self) -> None:
        """What is said of the minion at first has changed."""
        if self.online:
            self._session.tell_again()

    def leave(self) -> None:
        """The minion does not answer any more: the controller hears no more of it until it is `ready`."""
        self._connection.send(Bye())
        self._connection.change_keys(self._keys)  # ends this connection; the next one says no Hello
        self._woken.set()

    @property
    def settled(self) -> bool:
        """Whether there is a connection, by which the controller has said what it thinks of the key."""
        return self._connection.connected and bool(self._key_state)

    def speak(self, whether: bool) -> None:
        """Be connected from now on, or no more."""
        if self._speaks and not whether:
            self.leave()
            self._session.disconnected()
        self._speaks = whether
        self._woken.set()

    def forget_key_state(self) -> None:
        """Know nothing of the key until the controller says it again."""
        self._key_state = ""

    async def serve(self) -> None:
        """Be connected until cancelled."""
        followers = self._side.places.followers
        followers.add(self._woken.set)
        try:
            while True:
                self._follow()
                if self._speaks:
                    self._connection.dial_if_due()
                self._woken.clear()
                events = self._connection.collect()
                for event in events:
                    await self._handle(event)
                self._session.tick(time.monotonic())
                self._watch()
                if not events and not self._connection.unheard:
                    await self._wait()
        finally:
            followers.discard(self._woken.set)
            self._connection.send(Bye())
            self._unwatch(self._watched)
            self._connection.close()

    def _follow(self) -> None:
        """Go to the controller that is used; one that is connected does once that one has answered."""
        places = self._side.places
        waits = self._heard is None and self._connection.connected and not places.reached
        if places.address is self._address or waits:
            return
        self._connection.send(Bye())
        self._address = places.address
        wait = places.pause if self._heard is not None else random.uniform(0, FOLLOW_SECONDS)  # noqa: S311
        self._connection.change_address(replace(self._address, controller_key=self._controller_key), wait)

    async def _wait(self) -> None:
        at_last = time.monotonic() + 60
        due = min(self._connection.due(at_last), self._session.deadline) if self._speaks else at_last
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, due - time.monotonic())):
                await self._woken.wait()

    async def _handle(self, event: ToMinion | ConnectionEvent) -> None:
        now = time.monotonic()
        if self._heard is not None:
            self._heard(event)
        match event:
            case Connected():
                self._side.keys.has_proved(self._controller_key)
                self._session.connected(now)
            case Disconnected():
                self._session.disconnected()
                self._lost()
            case HandshakeFailed(of_own_key=False):
                self._expect_other_key()
            case NextControllerKey():
                self._side.keys.announced(event.public)
            case RotateKey():
                self._rotate()
            case KeyState():
                self._connection.is_welcome()
                if self._rotation is not None and self._rotation.takes(event):
                    return
                await self._note_key(event.state)
                self._session.key_state(event, now)
            case Refused(request=0):
                self._session.refused(event, now)
            case HelloAck():
                self._session.hello_acknowledged(event, now)
                await self._take(event)
            case AliveInterval():
                self._session.paced(event)
            case Heartbeat():
                self._session.heartbeat(event, now)
            case _ if isinstance(event, ToMinion):
                await self._take(event)

    def _expect_other_key(self) -> None:
        """What answered did not prove the key that is expected: try the other one that the controller may have."""
        others = [key for key in self._side.keys.known if key != self._controller_key]
        if others:
            self._controller_key = others[0]
            self._connection.change_controller_key(self._controller_key)

    def _rotate(self) -> None:
        new_key = self._rotation.new_key() if self._rotation is not None else None
        if new_key is not None:
            self.send(new_key)

    def _use_keys(self, keys: KeyPair) -> None:
        self._keys = keys
        self._session.fingerprint = fingerprint(keys.public)
        self._connection.change_keys(keys)

    def _vouched_request(self, accepted: bool) -> KeyRequest:
        request = self._key_request(accepted)
        if not self._pem:
            return request
        said = self._side.own.vouch(self._controller_key, self._keys.public, self._id, self._pem)
        return msgspec.structs.replace(request, salt_key=said)

    async def _note_key(self, state: str) -> None:
        if state != "accepted":
            self._unaccepted()
        async with self._changed:
            self._key_state = state
            self._changed.notify_all()

    def _said_hello(self) -> Hello:
        return self._hello() or Hello(id=self._id, grains={})

    def _send_of_session(self, message: ToController) -> bool:
        if isinstance(message, Hello) and not message.grains:
            return False  # a document that was compiled without grains would be another one
        return self._connection.send(message)

    def _watch(self) -> None:
        """Wake up when the sockets that there are now may have something."""
        loop = asyncio.get_running_loop()
        polled = self._connection.polled()
        self._unwatch([each for each in self._watched if each not in polled])
        for each in polled:
            if each not in self._watched:
                self._watched[each] = int(each.get(zmq.FD))
                loop.add_reader(self._watched[each], self._woken.set)

    def _unwatch(self, sockets: object) -> None:
        for each in list(sockets):  # type: ignore[call-overload]
            asyncio.get_running_loop().remove_reader(self._watched.pop(each))
