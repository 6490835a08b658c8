"""Where the agent stands with its controller: asking for its key, greeting, or welcome.

Part of the agent, which hands in the messages that concern this and calls `tick` at `deadline`. It starts no run.

    offline --Connected--> asking --KeyState accepted--> greeting --HelloAck--> online
    A key that was accepted once is not asked for again: the greeting goes first, and a refusal leads back to asking.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass

from wire.messages import Heartbeat, Hello, HelloAck, KeepAlive, KeyRequest, KeyState, Refused, ToController

log = logging.getLogger(__name__)

ASK_AGAIN = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between key requests; the last goes on."""

GREET_AGAIN = 10.0
"""Seconds without a HelloAck."""


class SessionState(enum.Enum):
    """The states above."""

    OFFLINE = "offline"
    ASKING = "asking"
    GREETING = "greeting"
    ONLINE = "online"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPorts:
    """What the link needs of its agent."""

    send: Callable[[ToController], bool]
    hello: Callable[[], Hello]
    alive: Callable[[], KeepAlive]


class AgentSession:
    """The state machine above."""

    def __init__(self, minion_id: str, fingerprint: str, ports: LinkPorts) -> None:
        self._id = minion_id
        self._fingerprint = fingerprint
        self._ports = ports
        self._accepted = False
        self._asked = 0
        self._told = ""
        self._epoch = ""
        self._alive_interval = 0.0
        self.session_state = SessionState.OFFLINE
        self.deadline = float("inf")

    @property
    def online(self) -> bool:
        """Whether the controller has welcomed this agent on this connection."""
        return self.session_state is SessionState.ONLINE

    def connected(self, now: float) -> None:
        """The connection stands."""
        if self._accepted:
            self.greet(now)
        else:
            self._asked = 0
            self._ask(now)

    def disconnected(self) -> None:
        """The connection is gone; the socket comes back by itself."""
        self.session_state = SessionState.OFFLINE
        self.deadline = float("inf")

    def key_state(self, message: KeyState, now: float) -> None:
        """Where our key stands."""
        if message.state == "accepted":
            if not self._accepted:
                log.info("event=key_accepted id=%s", self._id)
            self._accepted = True
            if self.session_state is SessionState.ASKING:
                self.greet(now)
            return
        self._accepted = False
        if self._told != message.state:
            self._told = message.state
            log.warning(
                "event=key_%s id=%s fingerprint=%s do=%s message=%s",
                message.state,
                self._id,
                self._fingerprint,
                f"compare with `saltern key finger {self._id}` on the controller, then `saltern key accept {self._id}`",
                message.message,
            )
        if self.session_state is not SessionState.ASKING:
            self._ask(now)

    def refused(self, message: Refused, now: float) -> None:
        """The controller did not accept our last message. Before the welcome that is about the key."""
        log.warning("event=refused_by_controller session=%s message=%s", self.session_state.value, message.message)
        if self.session_state is SessionState.GREETING:
            self._accepted = False
            self._asked = 0
            self._ask(now)

    def welcome(self, message: HelloAck, now: float) -> None:
        """The greeting was accepted."""
        log.info("event=connected_to_controller id=%s epoch=%s", self._id, message.epoch)
        self._accepted = True
        self._told = ""
        self._epoch = message.epoch
        self._alive_interval = max(message.alive_interval, 0.1)
        self.session_state = SessionState.ONLINE
        self.deadline = now + self._alive_interval

    def heartbeat(self, message: Heartbeat, now: float) -> bool:
        """The controller's pulse; True when it is another controller life than the one that welcomed us."""
        if self.online and message.epoch != self._epoch:
            self.greet(now)
            return True
        return False

    def greet(self, now: float) -> None:
        """Say hello."""
        self.session_state = SessionState.GREETING
        self.deadline = now + GREET_AGAIN
        self._ports.send(self._ports.hello())

    def tick(self, now: float) -> None:
        """Do what is due."""
        if now < self.deadline:
            return
        match self.session_state:
            case SessionState.ASKING:
                self._ask(now)
            case SessionState.GREETING:
                self.greet(now)
            case SessionState.ONLINE:
                self.deadline = now + self._alive_interval
                self._ports.send(self._ports.alive())
            case SessionState.OFFLINE:
                self.deadline = float("inf")

    def _ask(self, now: float) -> None:
        self.session_state = SessionState.ASKING
        self.deadline = now + ASK_AGAIN[min(self._asked, len(ASK_AGAIN) - 1)]
        self._asked += 1
        self._ports.send(KeyRequest(id=self._id))
