"""One controller of the minion: the connection to it, its session, its keys, and why it cannot be reached.

Made and asked by `minion.agent.controllers.links`. What a controller may want of the minion is the agent's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minion.agent.controllers.addresses import KnownController
from minion.agent.controllers.connection_trouble import ConnectionTrouble
from minion.agent.controllers.controller_keys import ControllerKeys
from minion.agent.controllers.key_rotation import KeyRotation
from minion.agent.controllers.session import AgentSession, SessionPorts, SessionState
from minion.config.settings import MinionSettings
from minion.processes import AgentPipe, Child
from wire.client import (
    Connected,
    Connection,
    ConnectionEvent,
    DialFailed,
    Disconnected,
    HandshakeFailed,
    Timing,
)
from wire.keys import KeyPair, fingerprint
from wire.messages import (
    AliveInterval,
    Bye,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPorts:
    """What links need of their agent."""

    key_request: Callable[[bool], KeyRequest]
    """Is told whether the key was accepted before."""
    hello: Callable[[str], Hello]
    """To the controller of this name."""
    keep_alive: Callable[[str], KeepAlive]
    fork: Callable[[Callable[[AgentPipe], None]], Child]


class ControllerLink:
    """One controller. It is open while the minion wants a connection, whether there is one or not.

    Args:
        known: the controller.
        settings: of the minion.
        ports: see `LinkPorts`.
    """

    def __init__(self, known: KnownController, settings: MinionSettings, ports: LinkPorts) -> None:
        self.name = known.name
        self.configured_key = known.address.controller_key
        self.clustered = False
        """Whether it shares its store with other controllers of its key, as it said last."""
        self._address = known.address
        self._timing = _timing(settings.master_alive_interval)
        self._ports = ports
        self._connection: Connection | None = None
        self._controller_keys = ControllerKeys(known.folder, settings.pki_dir, known.address.controller_key)
        self._key_rotation = KeyRotation(known.folder, settings.pki_dir, self._use_key)
        self.session = AgentSession(
            settings.id,
            "",
            SessionPorts(
                send=self.send,
                key_request=ports.key_request,
                hello=self._hello,
                keep_alive=lambda: ports.keep_alive(self.name),
            ),
        )
        self.trouble = ConnectionTrouble(
            settings.id,
            known.address,
            ports.fork,
            unresolved=self._is_unresolved,
            retry_dns=settings.retry_dns,
        )
        self.since = 0.0
        """When it was opened, or was lost."""
        self.failure = ""
        """Why the last dial came to nothing, or the controller does not let the minion in; empty: neither is known."""
        self.failed_dials = 0
        """In a row."""
        self.unresolved = 0
        """How often in a row its name had no address."""
        self.follows = True
        """What the last Hello said: whether the minion follows this controller."""
        self._why = ""
        self._other_key = False
        """The next dial expects the other key that the controller may have."""

    def _hello(self) -> Hello:
        hello = self._ports.hello(self.name)
        self.follows = hello.follows
        return hello

    @property
    def online(self) -> bool:
        """Whether the controller has acknowledged the Hello on this connection."""
        return self.session.online

    @property
    def reached(self) -> bool:
        """Whether there is a connection on which the controller has proved its key, be the minion's accepted or not."""
        return self.session.session_state is not SessionState.OFFLINE

    @property
    def connection(self) -> Connection | None:
        """To poll; None while the link is not open."""
        return self._connection

    def open(self, now: float) -> str:
        """Dial from now on; the fingerprint of the key that is shown. Raises BadKey."""
        keys = self._key_rotation.begin()
        self.session.fingerprint = own = fingerprint(keys.public)
        self._connection = Connection(self._address, keys, timing=self._timing)
        self._connection.change_controller_key(self._controller_keys.begin())
        self.since, self.failure, self._why = now, "", ""
        self.trouble.dialling(now)
        return own

    def close(self) -> None:
        """Say Bye where there is somebody to say it to, and dial no more."""
        if self._connection is None:
            return
        self._connection.send(Bye())
        self._connection.close()
        self._connection = None
        self.session.disconnected()
        self.trouble.left()

    def send(self, message: ToController) -> bool:
        """Queue a message; False when there is no connection, or its queue is full."""
        return self._connection is not None and self._connection.send(message)

    def take(self, event: ToMinion | ConnectionEvent, now: float) -> None:
        """Take what concerns the connection and the session; all else passes."""
        match event:
            case Connected():
                self._controller_keys.proved()
                self.trouble.connected(now)
                self.failure, self.failed_dials, self.unresolved = "", 0, 0
                self.session.connected(now)
            case Disconnected():
                if self.online:
                    self.since = now
                self.session.disconnected()
                self.trouble.dialling(now)
            case HandshakeFailed():
                self._handshake_failed(event)
            case DialFailed():
                if self._other_key:
                    self._other_key = False
                    return
                self.failed_dials += 1
                self.failure = self._why or "no connection came about"
            case NextControllerKey():
                self._controller_keys.announced(event.public)
            case KeyState():
                self._take_key_state(event, now)
            case RotateKey():
                new_key = self._key_rotation.new_key()
                if new_key is not None:
                    self.send(new_key)
            case Refused(request=0):
                self.session.refused(event, now)
            case HelloAck(cluster=cluster):
                self.clustered = cluster
                self.session.hello_acknowledged(event, now)
            case AliveInterval():
                self.session.paced(event)

    def _handshake_failed(self, event: HandshakeFailed) -> None:
        self.trouble.handshake_failed(event.reason)
        self._why = event.reason
        if self._connection is not None and not event.of_own_key:
            self._other_key = self._controller_keys.failed(self._connection.change_controller_key)

    def _take_key_state(self, message: KeyState, now: float) -> None:
        if self._key_rotation.takes(message):
            return
        self.session.key_state(message, now)
        if message.state == "rejected":
            self.failure = "the key of this minion is rejected"

    def _is_unresolved(self) -> None:
        self.unresolved += 1
        self.failure = "its name has no address"

    def _use_key(self, keys: KeyPair) -> None:
        self.session.fingerprint = fingerprint(keys.public)
        if self._connection is not None:
            self._connection.change_keys(keys)


def _timing(alive_interval: float) -> Timing:
    """`master_alive_interval`: how often a controller is asked for a sign of life; after twice that time it is gone."""
    if not alive_interval:
        return Timing()
    return Timing(heartbeat=alive_interval, silence=2 * alive_interval)
