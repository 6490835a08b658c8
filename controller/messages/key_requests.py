"""Keys that ask to be accepted: a new one waits for a person, or `controller.enrolment` decides about it.

Called by `Greetings` with requests that stand side by side in a batch, and by `MessageHandlers` with one alone. How
many keys may wait is bounded by `KeyRegistry.pending`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from controller.compilation.build_reconciler import BuildReconciler
from controller.enrolment.enrolment import Enrolment, KeyVerdict
from controller.messages.context import MessageContext
from controller.messages.key_rotations import KeyRotations
from controller.messages.replies import Replies
from controller.messages.stock_keys import StockKeys
from controller.sessions.sessions import KeyRegistry
from controller.store import KeyRecord, KeyUnknown
from controller.store.keys import DecidedKey, Keys
from reactors import tags
from wire.keys import fingerprint
from wire.messages import PROTOCOL, KeyRequest, KeyState, Refused
from wire.server.types import Identity, Incoming

log = structlog.get_logger("saltern.messages")

TOLD_SECONDS = 10.0
"""Between two that tell of keys for which there was no room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undecided:
    """A request of a key that is new, or that waits."""

    incoming: Incoming
    message: KeyRequest
    known: Identity | None


class _TakenIds:
    """Which ids of a group of requests have an accepted key. The store is asked when somebody wants to know."""

    def __init__(self, keys: Keys, ids: Sequence[str]) -> None:
        self._keys = keys
        self._ids = ids
        self._taken: set[str] | None = None

    def is_free(self, minion_id: str) -> bool:
        """Whether no key is accepted for the id, whatever its case."""
        return minion_id.casefold() not in self._known()

    def add(self, minion_id: str) -> None:
        """A key of the group will be accepted for it."""
        self._known().add(minion_id.casefold())

    def _known(self) -> set[str]:
        if self._taken is None:
            self._taken = self._keys.accepted_of(self._ids)
        return self._taken


@dataclass(slots=True, kw_only=True)
class KeyRequests:
    """Answers requests of keys."""

    context: MessageContext
    replies: Replies
    keyring: KeyRegistry
    builds: BuildReconciler
    enrolment: Enrolment
    rotations: KeyRotations
    stock_keys: StockKeys
    _full_told: float = -math.inf
    """When it was told last that there is no room for a key; strangers choose how often there is none."""

    def take_together(self, group: Sequence[Incoming]) -> None:
        """Say how these keys stand; new ones are written down, all together. Whoever asks twice is answered once."""
        now = self.context.clock()
        undecided = {}
        vouched: dict[str, str] = {}
        for each in group:
            message, known = each.message, self.keyring.identity(each.key)
            assert isinstance(message, KeyRequest)  # noqa: S101 - the caller has looked
            if message.protocol < PROTOCOL:
                old = f"protocol {message.protocol} is too old; this controller uses {PROTOCOL}"
                self.replies.send(each.key, Refused(message=old))
            elif known is None or known.state == "pending":
                undecided[each.key] = _Undecided(incoming=each, message=message, known=known)
            else:
                self.replies.send(each.key, KeyState(state=known.state))
            if known is not None and (found := self._newly_vouched(message, each.key, known)):
                vouched[each.key] = found
        if vouched:
            records = self.context.store.keys.vouched(vouched)
            self.context.after_commit.add(partial(self.keyring.put, *records))
        if undecided:
            self._decide(undecided, now)

    def _newly_vouched(self, message: KeyRequest, key: str, known: Identity) -> str:
        """The fingerprint that a gateway vouches for, where the store has another one or none."""
        found = self.stock_keys.fingerprint_of(message, key)
        return "" if found == known.salt_fingerprint else found

    def _decide(self, undecided: dict[str, _Undecided], now: float) -> None:
        taken = _TakenIds(self.context.store.keys, [each.message.id for each in undecided.values()])
        verdicts: dict[str, KeyVerdict] = {}
        for key, each in undecided.items():
            address = each.incoming.address
            if each.known is None and not self._make_room(key, address, now, verdicts):
                self._tell_full(key, each.message.id, now)
                continue
            verdict = self.enrolment.decide(each.message, address, now, partial(taken.is_free, each.message.id))
            verdicts[key] = verdict
            if verdict.state == "pending":
                self.keyring.pending.ask(key, address, now)
            elif verdict.state == "accepted":
                taken.add(each.message.id)
        self._write({key: undecided[key] for key in verdicts}, verdicts, now)

    def _write(self, undecided: Mapping[str, _Undecided], verdicts: Mapping[str, KeyVerdict], now: float) -> None:
        """Write down keys that are new, or about which something has been decided, and answer all."""
        written = [
            DecidedKey(
                public_key=key,
                id=each.message.id,
                role=each.message.role,
                state=verdicts[key].state,
                salt_fingerprint=self.stock_keys.fingerprint_of(each.message, key),
            )
            for key, each in undecided.items()
            # A key that is known to wait may ask as often as it likes: there is nothing to write.
            if each.known is None or verdicts[key].state != "pending"
        ]
        records = self.context.store.keys.take_decided(written, now) if written else {}
        for key, each in undecided.items():
            if (record := records.get(key)) is not None:
                self._tell(record, each.known, verdicts[key])
            state = "pending" if record is None else record.state
            self.replies.send(key, KeyState(state=state, message=verdicts[key].message))

    def _make_room(self, key: str, address: str, now: float, verdicts: dict[str, KeyVerdict]) -> bool:
        """Whether a new key may wait for acceptance; another one may have to go, out of `verdicts` if it is new."""
        victim = self.keyring.pending.make_room(address, now)
        if victim is None:
            self.replies.send(key, Refused(message="too many keys wait for acceptance; try again later"))
            return False
        if victim:
            verdicts.pop(victim, None)
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

    def _tell(self, record: KeyRecord, known: Identity | None, verdict: KeyVerdict) -> None:
        """Say what was written about a key."""
        if record.state != "pending":
            self.context.after_commit.add(verdict.afterwards)
        if known is not None and known.state == record.state:
            return
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
