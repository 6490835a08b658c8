"""Says why the controller cannot be reached: once a cause, and once more when it can be.

Part of the agent, which tells of connections and of their ends, polls `readers` and calls `look` at `due_at`. A child
looks what is at the controller's address, since resolving a name may take long.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from minion.agent.controllers.causes import OptionsOfPlace, cause_of
from minion.processes import AgentPipe, Child
from wire.address import Address
from wire.probe import ProbeOutcome, probe

log = logging.getLogger(__name__)

TOLD_AFTER = 5.0
"""Seconds without a connection until the cause is looked for."""

LOOKED_AGAIN = 600.0
"""Most seconds until it is looked for again; the first time it is `TOLD_AFTER`, and then twice as long each time."""

PROBE_SECONDS = 5.0
"""That a connection, and then its first bytes, may take."""

CHILD_SECONDS = 20.0
"""That the child may take; resolving a name has no limit of its own."""

_RESOLVED = b"resolved"


class _Report(msgspec.Struct, frozen=True, array_like=True):
    found: ProbeOutcome
    error: str


_REPORT = msgspec.msgpack.Decoder(_Report)


class ConnectionTrouble:
    """What keeps the minion from its controller.

    Args:
        minion_id: for the log.
        address: that is dialled; its host is what `master` names.
        fork: starts a child.
        unresolved: is called each time that the name has no address.
        retry_dns: seconds after which a name that has none is looked up again; 0: as with all causes.
    """

    def __init__(
        self,
        minion_id: str,
        address: Address,
        fork: Callable[[Callable[[AgentPipe], None]], Child],
        *,
        unresolved: Callable[[], None] = lambda: None,
        retry_dns: float = 0.0,
    ) -> None:
        self._id = minion_id
        self._address = address
        self._fork = fork
        self._unresolved, self._retry_dns = unresolved, retry_dns
        self._since = 0.0
        self._pause = TOLD_AFTER
        self._handshake = ""
        """Why the last handshake failed; empty: none did."""
        self._told = ""
        self._child: Child | None = None
        self._resolved = False
        self._abandoned = False
        """What the child finds is of no interest any more."""
        self.due_at = float("inf")

    def readers(self) -> list[int]:
        """The child's socket, while there is one."""
        return [] if self._child is None else [self._child.fd]

    def dialling(self, now: float) -> None:
        """There is no connection."""
        self._since, self._pause, self._handshake = now, TOLD_AFTER, ""
        self.due_at = now + self._pause

    def handshake_failed(self, reason: str) -> None:
        """Something listens, and did not prove the controller's key or did not let ours in."""
        self._handshake = reason

    def left(self) -> None:
        """It is not tried any more."""
        self.due_at = float("inf")
        self._abandoned = True
        if self._child is not None:
            self._child.kill()

    def connected(self, now: float) -> None:
        """There is a connection."""
        self.left()
        if self._told:
            log.warning(
                "event=controller_reached minion=%s controller=%s seconds=%.0f", *self._who(), now - self._since
            )
        self._told = ""

    def look(self, now: float) -> None:
        """Look for the cause when it is time to; end a child that takes too long."""
        if now < self.due_at:
            return
        if self._child is not None:
            self._child.kill()  # its socket ends, and `receive` says what it had found
            self.due_at = now + self._pause
            return
        self._resolved = self._abandoned = False
        try:
            self._child = self._fork(self._probe)
        except OSError as error:
            log.error("event=probe_not_started minion=%s error=%s", self._id, error)
        self.due_at = now + CHILD_SECONDS

    def receive(self, now: float) -> None:
        """The child's socket is readable."""
        if self._child is None:
            return
        frames, ended = self._child.receive()
        for frame in frames:
            if frame == _RESOLVED:
                self._resolved = True
            else:
                report = _REPORT.decode(frame)
                self._tell(report.found, report.error, now)
        if ended:
            code = self._child.reap()
            self._child = None
            if code:
                self._tell("silent" if self._resolved else "unresolved", "no answer in time", now)

    def _tell(self, found: ProbeOutcome, error: str, now: float) -> None:
        if self._abandoned:
            return
        self._pause = min(2 * self._pause, LOOKED_AGAIN)
        if found == "unresolved":
            self._pause = self._retry_dns or self._pause
            self._unresolved()
        self.due_at = now + self._pause
        cause, check = cause_of(found, error, self._handshake, self._address, OptionsOfPlace())
        level = logging.DEBUG if cause == self._told else logging.WARNING
        self._told = cause
        log.log(
            level,
            "event=controller_unreachable minion=%s controller=%s seconds=%.0f cause=%s do=%s",
            *self._who(),
            now - self._since,
            cause,
            check + "; still trying",
        )

    def _who(self) -> tuple[str, str]:
        return self._id, f"{self._address.host}:{self._address.request_port}"

    def _probe(self, pipe: AgentPipe) -> None:
        found, error = probe(
            self._address.host, self._address.request_port, PROBE_SECONDS, lambda: pipe.send(_RESOLVED)
        )
        pipe.send(msgspec.msgpack.encode(_Report(found, error)))
