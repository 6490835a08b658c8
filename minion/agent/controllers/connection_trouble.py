"""Says why the controller cannot be reached: once a cause, and once more when it can be.

Part of the agent, which tells of connections and of their ends, polls `readers` and calls `look` at `due_at`. A child
looks what is at the controller's address, since resolving a name may take long.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from minion.processes import AgentPipe, Child
from wire.keys import fingerprint
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
        host: of the controller, as `master` names it.
        port: that is dialled.
        controller_key: what the minion takes for the controller's key.
        fork: starts a child.
        unresolved: is called each time that the name has no address.
        relay: whether a relay listens there, which has to prove its own key first.
        retry_dns: seconds after which a name that has none is looked up again; 0: as with all causes.
    """

    def __init__(
        self,
        minion_id: str,
        host: str,
        port: int,
        controller_key: str,
        fork: Callable[[Callable[[AgentPipe], None]], Child],
        *,
        unresolved: Callable[[], None] = lambda: None,
        retry_dns: float = 0.0,
        relay: bool = False,
    ) -> None:
        self._id = minion_id
        self._host, self._port = host, port
        self._controller_key = controller_key
        self._relay = relay
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
        cause, check = self._explain(found, error)
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
        return self._id, f"{self._host}:{self._port}"

    def _explain(self, found: ProbeOutcome, error: str) -> tuple[str, str]:
        """What is wrong, and what to check."""
        where = f"{self._host}:{self._port}"
        match found:
            case "unresolved":
                return f"{self._host} has no address: {error}", "check `master`, and the name servers of this machine"
            case "refused":
                return (
                    f"nothing listens on {where}",
                    "see that the controller runs there (`saltern controller`), and that `master_port` here is its "
                    "`ret_port`",
                )
            case "silent":
                return (
                    f"{where} does not answer",
                    "check `master`, and that firewalls let this machine to the ports of `master_port` and "
                    "`publish_port`",
                )
            case "unreachable":
                return f"{where} cannot be reached: {error}", "check `master`, and the routes of this machine"
            case "foreign":
                return f"what listens on {where} is no controller", "check `master` and `master_port`"
            case "plain":
                return (
                    f"what listens on {where} speaks ZeroMQ without CURVE, as a Salt master does",
                    "check `master` and `master_port`: this minion needs a Saltern controller",
                )
            case "curve":
                return self._explain_handshake(where)

    def _explain_handshake(self, where: str) -> tuple[str, str]:
        if self._relay and self._handshake:
            return (
                f"by the relay on {where} no session with the controller comes about: {self._handshake}",
                "see the relay's log; compare `relay_key` with `saltern relay --key` there, and `controller_key` with "
                "`saltern key controller` on the controller",
            )
        if "does not let this key in" in self._handshake:
            return f"{where}: {self._handshake}", "see the controller's log; check that `master_port` is its `ret_port`"
        if self._handshake:
            return (
                f"the controller on {where} has another key than `controller_key` here, whose fingerprint is "
                f"{fingerprint(self._controller_key)}, or this is its `publish_port`, where no unknown key comes in",
                "see that `master_port` here is its `ret_port`; compare with `saltern key controller --fingerprint` on "
                "the controller; if it was made anew put its key into `controller_key`, and if not, somebody else "
                "answers at this address",
            )
        return f"{where} takes connections, and none has come about", "see the controller's log"

    def _probe(self, pipe: AgentPipe) -> None:
        found, error = probe(self._host, self._port, PROBE_SECONDS, lambda: pipe.send(_RESOLVED))
        pipe.send(msgspec.msgpack.encode(_Report(found, error)))
