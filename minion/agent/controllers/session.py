"""The session of the agent with its controller: a state machine from the connection to the acknowledged Hello.

The agent passes in the messages of the session and calls `tick` at `deadline`. Runs are not started here.

    offline --Connected--> requesting_key --KeyState accepted--> hello_sent --HelloAck--> online
    The first message of a connection is always the key request: until the controller has read a message of an accepted
    key it takes few bytes from a connection (`wire.limits.StrangerLimits`), and a Hello may have many.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass

from wire.messages import (
    AliveInterval,
    Heartbeat,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    Refused,
    ToController,
)

log = logging.getLogger(__name__)

KEY_REQUEST_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between key requests; the last is repeated."""

HELLO_TIMEOUT = 10.0
"""Seconds without a HelloAck, after which the Hello is sent again."""
SHORTEST_INTERVAL = 0.1
"""Seconds between two signs of life."""


class SessionState(enum.Enum):
    """The states above."""

    OFFLINE = "offline"
    REQUESTING_KEY = "requesting_key"
    HELLO_SENT = "hello_sent"
    ONLINE = "online"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPorts:
    """What the session needs of its agent."""

    send: Callable[[ToController], bool]
    key_request: Callable[[bool], KeyRequest]
    """Is told whether the key was accepted before."""
    hello: Callable[[], Hello]
    keep_alive: Callable[[], KeepAlive]


class AgentSession:
    """The state machine above."""

    def __init__(self, minion_id: str, fingerprint: str, ports: SessionPorts) -> None:
        self._id = minion_id
        self.fingerprint = fingerprint
        self._ports = ports
        self._accepted = False
        self._key_requests = 0
        self._logged_key_state = ""
        self._epoch = ""
        self._keepalive_interval = 0.0
        self.session_state = SessionState.OFFLINE
        self.deadline = float("inf")

    @property
    def online(self) -> bool:
        """Whether the controller has acknowledged the Hello on this connection."""
        return self.session_state is SessionState.ONLINE

    def connected(self, now: float) -> None:
        """There is a connection."""
        self._key_requests = 0
        self._request_key(now)

    def disconnected(self) -> None:
        """The connection is lost; the socket reconnects by itself."""
        self.session_state = SessionState.OFFLINE
        self.deadline = float("inf")

    def key_state(self, message: KeyState, now: float) -> None:
        """The controller says whether it has accepted the key."""
        if message.state == "accepted":
            if not self._accepted:
                # Who has read that it waits reads on.
                level = logging.WARNING if self._logged_key_state else logging.INFO
                log.log(level, "event=key_accepted minion=%s", self._id)
            self._accepted = True
            if self.session_state is SessionState.REQUESTING_KEY:
                self.send_hello(now)
            return
        self._accepted = False
        if self._logged_key_state != message.state:
            self._logged_key_state = message.state
            log.warning(
                "event=key_%s minion=%s fingerprint=%s do=%s message=%s",
                message.state,
                self._id,
                self.fingerprint,
                f"compare with `saltern key finger {self._id}` on the controller, then `saltern key accept {self._id}` "
                f"(where another key has this id, `saltern key delete {self._id}` first)",
                message.message,
            )
        if self.session_state is not SessionState.REQUESTING_KEY:
            self._request_key(now)

    def refused(self, message: Refused, now: float) -> None:
        """The controller refused the last message. Before a HelloAck that means the key."""
        log.warning("event=refused_by_controller session=%s message=%s", self.session_state.value, message.message)
        if self.session_state is SessionState.HELLO_SENT:
            self._accepted = False
            self._key_requests = 0
            self._request_key(now)

    def hello_acknowledged(self, message: HelloAck, now: float) -> None:
        """The Hello was accepted."""
        log.info("event=connected_to_controller minion=%s epoch=%s", self._id, message.epoch)
        self._accepted = True
        self._logged_key_state = ""
        self._epoch = message.epoch
        self._keepalive_interval = max(message.alive_interval, SHORTEST_INTERVAL)
        self.session_state = SessionState.ONLINE
        self.deadline = now + self._keepalive_interval

    def paced(self, message: AliveInterval) -> None:
        """Give signs of life at another interval, after the next one."""
        self._keepalive_interval = max(message.seconds, SHORTEST_INTERVAL)

    def heartbeat(self, message: Heartbeat, now: float) -> bool:
        """The controller's heartbeat; True when the controller was restarted since the HelloAck."""
        if self.online and message.epoch != self._epoch:
            self.send_hello(now)
            return True
        return False

    def send_hello(self, now: float) -> None:
        """Send a Hello."""
        self.session_state = SessionState.HELLO_SENT
        self.deadline = now + HELLO_TIMEOUT
        self._ports.send(self._ports.hello())

    def tell_again(self) -> None:
        """Say Hello once more on a connection that goes on, since what it says has changed."""
        self._ports.send(self._ports.hello())

    def tick(self, now: float) -> None:
        """Do what is due."""
        if now < self.deadline:
            return
        match self.session_state:
            case SessionState.REQUESTING_KEY:
                self._request_key(now)
            case SessionState.HELLO_SENT:
                self.send_hello(now)
            case SessionState.ONLINE:
                self.deadline = now + self._keepalive_interval
                self._ports.send(self._ports.keep_alive())
            case SessionState.OFFLINE:
                pass

    def _request_key(self, now: float) -> None:
        self.session_state = SessionState.REQUESTING_KEY
        self.deadline = now + KEY_REQUEST_PAUSES[min(self._key_requests, len(KEY_REQUEST_PAUSES) - 1)]
        self._key_requests += 1
        self._ports.send(self._ports.key_request(self._accepted))
