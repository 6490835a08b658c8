"""New keys of minions, asked for by a person and told by the session of the old key.

Called by `controller.api` and, with the new key, by `MessageHandlers` in the transaction of the message: in the store
the old key ends and the new one begins together. A minion that did not hear of it learns that its old key is rejected,
and tries the new one (`minion.agent.controllers.key_rotation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from controller.messages.context import MessageContext
from controller.messages.replies import Replies
from controller.schema.errors import ServiceError
from controller.schema.keys import NextController, RotatedKey
from controller.sessions.sessions import KeyRegistry, Session
from controller.store import KeyConflict, KeyRecord
from reactors import tags
from wire.errors import BadKey
from wire.keys import check_public_key, fingerprint, load_or_create
from wire.messages import ROTATE_KEY, KeyState, NewKey, NextControllerKey, Refused, RotateKey

_ROTATED_WHILE = (
    "a key is rotated while its minion is connected; MINION is one id, as `saltern minions --up` lists them"
)
log = structlog.get_logger("saltern.messages")

ROTATION_SECONDS = 30.0
"""That a minion may take to make a key and tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    user: str
    told: asyncio.Future[str]


@dataclass(slots=True, kw_only=True)
class KeyRotations:
    """Those that were asked for."""

    context: MessageContext
    replies: Replies
    keyring: KeyRegistry
    next_key_file: Path
    """Of the controller's next key, while there is one."""
    _asked: dict[str, _Asked] = field(default_factory=dict)
    """By minion."""

    async def rotate(self, minion: str, user: str) -> RotatedKey:
        """Have a connected minion make a new key.

        Raises:
            ServiceError: it is not connected, is too old, does so already, or does not answer.
        """
        session = self.context.sessions.session(minion)
        if session is None:
            raise ServiceError("no-target", f"{minion} is not connected", hint=_ROTATED_WHILE)
        if ROTATE_KEY not in session.takes:
            raise ServiceError("conflict", f"{minion} is too old to rotate its key", hint="update it")
        if minion in self._asked:
            raise ServiceError("conflict", f"the key of {minion} is being rotated already")
        asked = self._asked[minion] = _Asked(user=user, told=asyncio.get_running_loop().create_future())
        try:
            self.replies.send_now(session.key, RotateKey())
            async with asyncio.timeout(ROTATION_SECONDS):
                new = await asked.told
        except TimeoutError:
            text = f"{minion} has told no new key within {ROTATION_SECONDS:g} s; its old one is still good"
            raise ServiceError("conflict", text) from None
        finally:
            del self._asked[minion]
        return RotatedKey(minion=minion, old=fingerprint(session.key), new=new)

    def begin(self) -> NextController:
        """Make the controller's next key, or take the one that there is, and tell it to all who are connected.

        Raises:
            ServiceError: it cannot be kept.
        """
        try:
            public = load_or_create(self.next_key_file).public
        except BadKey as error:
            raise ServiceError("conflict", str(error)) from error
        told = [session.minion for session in self.context.sessions]
        self.announce([session.key for session in self.context.sessions])
        away = tuple(sorted(self.keyring.accepted.difference(told)))
        return NextController(public=public, fingerprint=fingerprint(public), told=len(told), away=away)

    def announce(self, keys: Iterable[str]) -> None:
        """Tell these minions the controller's next key, while there is one."""
        if not self.next_key_file.exists():
            return
        try:
            message = NextControllerKey(public=load_or_create(self.next_key_file).public)
        except BadKey as error:
            log.error("next key of the controller is not announced", reason=str(error))
            return
        for key in keys:
            self.replies.send_now(key, message)

    def take(self, session: Session, message: NewKey) -> None:
        """The new key of a minion, by the session of the old."""
        asked = self._asked.get(session.minion)
        if asked is None:
            log.warning("minion told a new key that nobody asked for", minion=session.minion)
            self.replies.send(session.key, Refused(message="nobody has asked for a new key"))
            return
        try:
            check_public_key(message.public)
            old, new = self.context.store.keys.replace(session.key, message.public, self.context.clock())
        except (BadKey, KeyConflict) as error:
            log.warning("new key refused", minion=session.minion, reason=str(error))
            self.replies.send(session.key, Refused(message=f"the new key is not taken: {error}"))
            return
        self.context.after_commit.add(partial(self._replaced, asked, old, new))

    def _replaced(self, asked: _Asked, old: KeyRecord, new: KeyRecord) -> None:
        self.keyring.put(old, new)
        self.context.sessions.lost(old.public_key)
        self.replies.send_now(old.public_key, KeyState(state="rejected", message="replaced by a new key"))
        self.context.bus.publish(*tags.key(new.id, "accepted", new.fingerprint, asked.user))
        log.info("key rotated", minion=new.id, old=old.fingerprint, new=new.fingerprint, user=asked.user)
        if not asked.told.done():
            asked.told.set_result(new.fingerprint)
