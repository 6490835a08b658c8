"""Keys as people list and change them. Called by `controller.api.service`, on the loop.

Whoever reaches the ports can have thousands of keys wait, so nothing here looks at all of them at once: keys are read
by pages and changed by batches, and the rest of the loop has its turn between two of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from controller.compilation.build_reconciler import BuildReconciler
from controller.schema.errors import ServiceError
from controller.schema.keys import EnrolmentTokenView, KeyView
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.store import KeyConflict, KeyRecord, KeyStatus, KeyUnknown, Store
from controller.store.access.enrolment_tokens import EnrolmentToken
from reactors import tags
from reactors.bus import Bus
from wire.errors import BadKey
from wire.keys import check_public_key, valid_minion_id
from wire.messages import KeyRole, KeyState
from wire.server.server import Server

PAGE = 500
"""Keys that are read at once: about 5 ms."""

BATCH = 50
"""Keys that are changed at once, in one transaction: about 20 ms."""


@dataclass(slots=True, kw_only=True)
class KeyChanges:
    """Lists, accepts, rejects and deletes keys.

    Args:
        clock: seconds since the epoch.
    """

    store: Store
    keyring: KeyRegistry
    sessions: Sessions
    server: Server
    builds: BuildReconciler
    bus: Bus
    clock: Callable[[], float]

    async def all(self) -> list[KeyView]:
        """All keys, sorted by state and id; those that come or go meanwhile may be among them or not."""
        views = [_key_view(record) async for page in self._pages(PAGE) for record in page]
        return sorted(views, key=lambda key: (key.state, key.minion, key.first_seen))

    async def set_state(self, names: Sequence[str], of: Sequence[KeyStatus], to: KeyStatus, user: str) -> list[KeyView]:
        """Accept or reject.

        Args:
            names: ids, globs or fingerprints. Of an id with several keys, those that came later and wait are accepted
                by their fingerprints alone.
            of: the states that are changed.
            to: the state after that.
            user: who asks.

        Returns:
            The keys as they are now.

        Raises:
            ServiceError: a name means no key, then nothing has changed; or another key is accepted for an id, then
                nothing of its batch has changed, and those before it have.
        """
        changed: list[KeyView] = []
        found = await self._named(names, of)
        for batch in _batches(_without_denied(found, names) if to == "accepted" else found):
            changed += self._set_batch(batch, to, user)
            await asyncio.sleep(0)
        return changed

    def add(self, minion: str, public_key: str, user: str, role: KeyRole = "minion") -> KeyView:
        """Accept a key before its minion, or its relay, has asked.

        Raises:
            ServiceError: this is no id or no key; the key is another minion's, or another key is accepted for the id.
        """
        if not valid_minion_id(minion):
            raise ServiceError("bad-request", f"{minion!r} is no id of a minion")
        try:
            check_public_key(public_key)
        except BadKey as error:
            raise ServiceError("bad-request", str(error)) from error
        try:
            with self.store.transaction():
                known = self.store.keys.request(public_key, minion, self.clock(), role)
                if (known.id, known.role) != (minion, role):
                    text = f"this key belongs to the {known.role} {known.id!r}; delete it there first"
                    raise ServiceError("conflict", text)
                record = self.store.keys.set_state(public_key, "accepted", self.clock())
        except KeyConflict as error:
            raise ServiceError("conflict", str(error)) from error
        self.keyring.put(record)
        self._tell([record], "accepted", user)
        return _key_view(record)

    def hand_over(self, minion: str, old: str, new: str, user: str, beside: Callable[[], None]) -> None:
        """Accept one key for an id in the place of another, which waits from then on; both, or neither.

        Args:
            minion: the id.
            old: public key that is accepted, or was.
            new: public key; known here or not.
            user: who asks.
            beside: writes what belongs together with it.

        Raises:
            ServiceError: the new key is another minion's, or a third one is accepted for the id.
        """
        now = self.clock()
        try:
            with self.store.transaction():
                for each in (old, new):
                    known = self.store.keys.request(each, minion, now)
                    if (known.id, known.role) != (minion, "minion"):
                        raise ServiceError("conflict", f"the key belongs to the {known.role} {known.id!r}")
                waits = self.store.keys.set_state(old, "pending", now)
                accepted = self.store.keys.set_state(new, "accepted", now)
                beside()
        except KeyConflict as error:
            raise ServiceError("conflict", str(error)) from error
        self.keyring.put(waits, accepted)
        self._lost(waits.public_key)
        self._tell([accepted], "accepted", user)

    def put_aside(self, minion: str, public_key: str, state: Literal["pending", "rejected"], user: str) -> None:
        """Have a key that is not accepted wait, or be rejected.

        Args:
            minion: its id.
            public_key: known here or not.
            state: the state after that.
            user: who asks.
        """
        now = self.clock()
        with self.store.transaction():
            self.store.keys.request(public_key, minion, now)
            record = self.store.keys.set_state(public_key, state, now)
        self.keyring.put(record)
        if state == "rejected":
            self._tell([record], state, user)
        else:
            self._lost(public_key)

    def forget(self, public_key: str) -> None:
        """Know a key no more that is not accepted: when its agent asks, that is seen.

        Args:
            public_key: known here or not.
        """
        self.store.keys.delete_all([public_key])
        self.keyring.remove(public_key)
        self._lost(public_key)

    async def delete(self, names: Sequence[str], user: str) -> list[KeyView]:
        """Forget keys, and the minions that had them; arguments and errors as in `set_state`."""
        found = await self._named(names, ("accepted", "pending", "rejected"))
        for batch in _batches(found):
            self._delete_batch(batch, user)
            await asyncio.sleep(0)
        return [_key_view(record) for record in found]

    def _set_batch(self, batch: Sequence[KeyRecord], to: KeyStatus, user: str) -> list[KeyView]:
        changed = []
        try:
            with self.store.transaction():
                for record in batch:
                    with contextlib.suppress(KeyUnknown):  # it has gone since it was found
                        changed.append(self.store.keys.set_state(record.public_key, to, self.clock()))
        except KeyConflict as error:
            raise ServiceError("conflict", str(error)) from error
        self.keyring.put(*changed)
        self._tell(changed, to, user)
        return [_key_view(record) for record in changed]

    def _delete_batch(self, batch: Sequence[KeyRecord], user: str) -> None:
        with self.store.transaction():
            self.store.keys.delete_all([record.public_key for record in batch])
            ids = {record.id for record in batch}
            for minion in ids - self.store.keys.decided_ids(list(ids)):
                # Whoever comes with this id and another key next inherits nothing.
                self.store.minions.delete(minion)
        self.keyring.remove(*(record.public_key for record in batch))
        self._tell(batch, "delete", user)

    def _tell(self, records: Sequence[KeyRecord], act: str, user: str) -> None:
        for record in records:
            if act == "accepted":
                # A minion that waits keeps its connection: it says Hello now, and not when it would ask again.
                self.server.send(record.public_key, KeyState(state="accepted"))
            else:
                self._lost(record.public_key)
            self.builds.fleet_changed(self.bus.publish(*tags.key(record.id, act, record.fingerprint, user)).id)

    def _lost(self, public_key: str) -> None:
        self.sessions.lost(public_key)
        self.server.disconnect(public_key)

    async def _named(self, names: Sequence[str], of: Sequence[KeyStatus]) -> list[KeyRecord]:
        """Keys in these states by id, glob or fingerprint, by id; ServiceError for a name that means none."""
        literal = {name for name in names if not re.search(r"[*?[]", name)}
        globs = {name: re.compile(fnmatch.translate(name)).match for name in names if name not in literal}
        meant, found = set[str](), []
        async for page in self._pages(max(1, PAGE // (1 + len(globs)))):
            for record in page:
                hits = literal & {record.id, record.fingerprint, record.salt_fingerprint}
                hits |= {name for name, matches in globs.items() if name == record.fingerprint or matches(record.id)}
                meant |= hits
                if hits and record.state in of:
                    found.append(record)
        for name in names:
            if name not in meant:
                raise ServiceError("not-found", f"no key matches {name!r}", hint="`saltern key list` shows all keys")
        return sorted(found, key=lambda record: (record.id, record.first_seen))

    async def _pages(self, size: int) -> AsyncIterator[list[KeyRecord]]:
        after = ""
        while page := self.store.keys.page(after, size):
            yield page
            after = page[-1].public_key
            await asyncio.sleep(0)


def token_view(record: EnrolmentToken) -> EnrolmentTokenView:
    """An enrolment token as people see it."""
    return EnrolmentTokenView(
        id=record.id,
        minions=record.minions,
        uses_left=record.uses_left,
        created=record.created,
        expires=record.expires,
        created_by=record.created_by,
    )


def _batches(records: Sequence[KeyRecord]) -> Iterator[Sequence[KeyRecord]]:
    for start in range(0, len(records), BATCH):
        yield records[start : start + BATCH]


def _without_denied(found: Sequence[KeyRecord], names: Sequence[str]) -> list[KeyRecord]:
    """These keys, but for those that ask for an id for which another one of them comes first, as salt-key does it."""
    first = {record.id.casefold() for record in found if not record.conflict}
    return [
        record
        for record in found
        if not record.conflict
        or record.id.casefold() not in first
        or not {record.fingerprint, record.salt_fingerprint}.isdisjoint(names)
    ]


def _key_view(record: KeyRecord) -> KeyView:
    return KeyView(
        minion=record.id,
        state=record.state,
        fingerprint=record.fingerprint,
        first_seen=record.first_seen,
        changed=record.changed,
        conflict=record.conflict,
        public_key=record.public_key,
        role=record.role,
        salt_fingerprint=record.salt_fingerprint,
    )
