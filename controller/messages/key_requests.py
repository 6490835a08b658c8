"""Keys that ask to be accepted: a new one waits for a person, or `controller.enrolment` decides about it.

Called by `MessageHandlers` with requests of peers whose key nobody has accepted. How many keys may wait is bounded by
`KeyRegistry.pending`.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import partial

import structlog

from controller.compilation.build_reconciler import BuildReconciler
from controller.enrolment.enrolment import Enrolment, KeyVerdict
from controller.messages.context import MessageContext
from controller.messages.key_rotations import KeyRotations
from controller.messages.replies import Replies
from controller.sessions.sessions import KeyRegistry
from controller.store import KeyStatus, KeyUnknown
from reactors import tags
from wire.keys import fingerprint
from wire.messages import PROTOCOL, KeyRequest, KeyState, Refused
from wire.server.types import Identity, Incoming

log = structlog.get_logger("saltern.messages")

TOLD_SECONDS = 10.0
"""Between two that tell of keys for which there was no room."""


@dataclass(slots=True, kw_only=True)
class KeyRequests:
    """Answers requests of keys."""

    context: MessageContext
    replies: Replies
    keyring: KeyRegistry
    builds: BuildReconciler
    enrolment: Enrolment
    rotations: KeyRotations
    _full_told: float = -math.inf
    """When it was told last that there is no room for a key; strangers choose how often there is none."""

    def handle(self, incoming: Incoming, message: KeyRequest) -> None:
        """Say how the key stands; a new one is written down."""
        key = incoming.key
        if message.protocol < PROTOCOL:
            self.replies.send(
                key, Refused(message=f"protocol {message.protocol} is too old; this controller uses {PROTOCOL}")
            )
            return
        now, known = self.context.clock(), self.keyring.identity(key)
        if known is None and not self._make_room(key, incoming.address, now):
            self._tell_full(key, message.id, now)
            return
        text = ""
        if known is None or known.state == "pending":
            keys = self.context.store.keys
            verdict = self.enrolment.decide(
                message, incoming.address, now, lambda: not keys.request(key, message.id, now, message.role).conflict
            )
            state = self._take_key(key, message, known, verdict, now)
            text = verdict.message
        else:
            state = known.state
        if state == "pending":
            self.keyring.pending.ask(key, incoming.address, now)
        self.replies.send(key, KeyState(state=state, message=text))

    def _make_room(self, key: str, address: str, now: float) -> bool:
        """Whether a new key may wait for acceptance; another one may have to go."""
        victim = self.keyring.pending.make_room(address, now)
        if victim is None:
            self.replies.send(key, Refused(message="too many keys wait for acceptance; try again later"))
            return False
        if victim:
            with contextlib.suppress(KeyUnknown):
                self.context.store.keys.delete(victim)
            log.warning("pending key made room for another", public_key=victim)
            self.keyring.remove(victim)
        return True

    def _tell_full(self, key: str, minion_id: str, now: float) -> None:
        """Say that there is no room for a key, now and then; Salt says `full` where its `max_minions` is reached."""
        if now - self._full_told >= TOLD_SECONDS:
            self._full_told = now
            log.warning("too many keys wait for acceptance; a request was refused", minion=minion_id)
            self.context.bus.publish(*tags.auth(minion_id, "full", fingerprint(key)))

    def _take_key(
        self, key: str, message: KeyRequest, known: Identity | None, verdict: KeyVerdict, now: float
    ) -> KeyStatus:
        """Write down a key that is new, or about which something has been decided."""
        if known is not None and verdict.state == "pending":
            return "pending"  # nothing to write: a key may ask as often as it likes
        record = self.context.store.keys.request(key, message.id, now, message.role)
        if record.state != verdict.state:
            record = self.context.store.keys.set_state(key, verdict.state, now)
            self.context.after_commit.add(verdict.afterwards)
        if known is None or known.state != record.state:
            self.context.after_commit.add(partial(self.keyring.put, record))
            if record.state == "accepted":  # a key that waits changes no answer about the fleet
                self.builds.fleet_changed()
            act = "denied" if record.conflict else tags.act_of(record.state)
            self.context.bus.publish(*tags.auth(record.id, act, record.fingerprint))
            log.info(
                "key request",
                minion=record.id,
                role=record.role,
                state=record.state,
                fingerprint=record.fingerprint,
                by=verdict.why,
            )
        return record.state
