"""Who is who: the keys of minions. The registry of the wire keeps its own copy in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, and_, bindparam, delete, exists, insert, or_, select, text, tuple_, update
from sqlalchemy.exc import IntegrityError

from controller.store.database import Database
from controller.store.errors import KeyConflict, KeyUnknown
from controller.store.records import KeyRecord, KeyStatus
from controller.store.schema import keys
from wire.keys import fingerprint
from wire.messages import KeyRole

_TOGETHER = 500
"""Keys of one statement."""

_other = keys.alias("other")
_earlier = tuple_(_other.c.first_seen, _other.c.public_key) < tuple_(keys.c.first_seen, keys.c.public_key)
# Two questions, since each is answered by a partial index of its own.
_taken = exists().where(
    _other.c.id_folded == keys.c.id_folded, _other.c.public_key != keys.c.public_key, text("other.state = 'accepted'")
)
_waits_behind = exists().where(_other.c.id_folded == keys.c.id_folded, text("other.state = 'pending'"), _earlier)
_conflict = or_(_taken, and_(keys.c.state == "pending", _waits_behind))
_rows = select(keys, _conflict.label("conflict"))
_row_of = _rows.where(keys.c.public_key == bindparam("asked"))
_page = _rows.where(keys.c.public_key > bindparam("after")).order_by(keys.c.public_key).limit(bindparam("count"))
_is_accepted = text("state = 'accepted'")
"""In the words of the partial index, so that it is used."""
_change_state = (
    update(keys)
    .where(keys.c.public_key == bindparam("asked"), keys.c.state != bindparam("to"))
    .values(state=bindparam("to"), changed=bindparam("at"))
)
_accepted_ids = select(keys.c.id).where(text("state = 'accepted' AND role = 'minion'")).order_by(keys.c.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedKey:
    """A key that asks for an id, and where it is to stand."""

    public_key: str
    id: str
    role: KeyRole
    state: KeyStatus
    salt_fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Keys:
    """The table of keys."""

    database: Database

    def all(self) -> list[KeyRecord]:
        """All keys, by id."""
        with self.database.read() as connection:
            rows = connection.execute(_rows.order_by(keys.c.id, keys.c.first_seen)).all()
        return [_record(row) for row in rows]

    def page(self, after: str, count: int) -> list[KeyRecord]:
        """The next keys by public key; empty at the end.

        Whoever may reach the ports can make keys wait, so what needs all of them reads them by pages.

        Args:
            after: public key of the last one of the page before; empty for the first page.
            count: how many at the most.
        """
        with self.database.read() as connection:
            return [_record(row) for row in connection.execute(_page, {"after": after, "count": count})]

    def waiting(self, most: int) -> list[KeyRecord]:
        """So many keys that wait to be accepted, those that came first."""
        query = _rows.where(keys.c.state == "pending").order_by(keys.c.first_seen, keys.c.public_key).limit(most)
        with self.database.read() as connection:
            return [_record(row) for row in connection.execute(query)]

    def accepted_ids(self) -> list[str]:
        """Ids of minions whose key is accepted, sorted. Keys that wait cost nothing here."""
        with self.database.read() as connection:
            return list(connection.scalars(_accepted_ids))

    def decided_ids(self, ids: Sequence[str]) -> set[str]:
        """Those of these ids that have an accepted or a rejected key."""
        query = select(keys.c.id).where(keys.c.id.in_(ids), keys.c.state != "pending")
        with self.database.read() as connection:
            return set(connection.scalars(query))

    def accepted_of(self, ids: Sequence[str]) -> set[str]:
        """Those of these ids, case-folded, for which a key is accepted."""
        query = select(keys.c.id_folded).where(keys.c.id_folded.in_([each.casefold() for each in ids]), _is_accepted)
        with self.database.read() as connection:
            return set(connection.scalars(query))

    def take_decided(self, decided: Sequence[DecidedKey], now: float) -> dict[str, KeyRecord]:
        """Write keys that are new, or about which something was decided, all together; their records by public key.

        A known key keeps the id that it asked for first. KeyConflict when two would be accepted for one id.
        """
        states = {each.public_key: each.state for each in decided}
        with self.database.write() as connection:
            known = set(connection.scalars(select(keys.c.public_key).where(keys.c.public_key.in_(states))))
            rows = [_row(each, now) for each in decided if each.public_key not in known]
            changed = [{"asked": key, "to": states[key], "at": now} for key in known]
            try:
                if rows:
                    connection.execute(insert(keys), rows)
                if changed:
                    connection.execute(_change_state, changed)
            except IntegrityError as error:
                raise KeyConflict("another key is accepted for one of these ids") from error
            found = connection.execute(_rows.where(keys.c.public_key.in_(states)))
            return {record.public_key: record for record in map(_record, found)}

    def vouched(self, fingerprints: Mapping[str, str]) -> list[KeyRecord]:
        """Note the fingerprints of RSA keys that a gateway vouches for; the records that are other now.

        Args:
            fingerprints: by public key, as Salt shows them.
        """
        with self.database.write() as connection:
            connection.execute(
                update(keys)
                .where(keys.c.public_key == bindparam("asked"))
                .values(salt_fingerprint=bindparam("vouched_for")),
                [{"asked": key, "vouched_for": found} for key, found in fingerprints.items()],
            )
            rows = connection.execute(_rows.where(keys.c.public_key.in_(fingerprints)))
            return [_record(row) for row in rows]

    def request(self, public_key: str, minion_id: str, now: float, role: KeyRole = "minion") -> KeyRecord:
        """The record of a key that asks for an id; a new one is pending, a known one keeps what it asked for first.

        How many may wait is bounded by `controller.sessions.pending_keys`, from memory.
        """
        with self.database.write() as connection:
            return _by_public(connection, public_key) or _insert(connection, public_key, minion_id, now, role)

    def set_state(self, name: str, state: KeyStatus, now: float) -> KeyRecord:
        """Accept, reject or put back the key with this id, fingerprint or public key.

        Raises:
            KeyUnknown: no key has this name.
            KeyConflict: several have it, or another key is accepted for the id.
        """
        with self.database.write() as connection:
            return _set_state(connection, name, state, now)

    def replace(self, old: str, new: str, now: float) -> tuple[KeyRecord, KeyRecord]:
        """Reject an accepted key, and accept another for its id; both, or neither.

        Args:
            old: public key.
            new: public key that has not asked for anything.
            now: seconds since the epoch.

        Raises:
            KeyConflict: the old one is not accepted, or the new one is known.
        """
        with self.database.write() as connection:
            known = _by_public(connection, old)
            if known is None or known.state != "accepted":
                raise KeyConflict("the old key is not accepted")
            if _by_public(connection, new) is not None:
                raise KeyConflict("the new key is known already")
            rejected = _set_state(connection, old, "rejected", now)
            _insert(connection, new, known.id, now)
            return rejected, _set_state(connection, new, "accepted", now)

    def delete(self, name: str) -> list[KeyRecord]:
        """Forget the keys with this id, fingerprint or public key; returns them. KeyUnknown when there is none."""
        with self.database.write() as connection:
            found = _find(connection, name)
            if not found:
                raise KeyUnknown(f"there is no key of {name!r}")
            _delete(connection, [record.public_key for record in found])
            return found

    def delete_all(self, public_keys: Sequence[str]) -> None:
        """Forget these public keys, all together."""
        with self.database.write() as connection:
            _delete(connection, public_keys)


def _row(key: DecidedKey, now: float) -> dict[str, object]:
    return {
        "public_key": key.public_key,
        "id": key.id,
        "id_folded": key.id.casefold(),
        "state": key.state,
        "fingerprint": fingerprint(key.public_key),
        "first_seen": now,
        "changed": now,
        "role": key.role,
        "salt_fingerprint": key.salt_fingerprint,
    }


def _insert(connection: Connection, public_key: str, minion_id: str, now: float, role: KeyRole = "minion") -> KeyRecord:
    pending = DecidedKey(public_key=public_key, id=minion_id, role=role, state="pending")
    connection.execute(insert(keys), _row(pending, now))
    record = _by_public(connection, public_key)
    assert record is not None  # noqa: S101 - written above, in this transaction
    return record


def _delete(connection: Connection, public_keys: Sequence[str]) -> None:
    for start in range(0, len(public_keys), _TOGETHER):
        connection.execute(delete(keys).where(keys.c.public_key.in_(public_keys[start : start + _TOGETHER])))


def _set_state(connection: Connection, name: str, state: KeyStatus, now: float) -> KeyRecord:
    record = _the_one(_find(connection, name), name, state)
    change = update(keys).where(keys.c.public_key == record.public_key).values(state=state, changed=now)
    try:
        connection.execute(change.where(keys.c.state != state))
    except IntegrityError as error:
        raise KeyConflict(
            f"another key is accepted for {record.id!r} (ids that differ in case only count as one); "
            "delete or reject that one first"
        ) from error
    changed = _by_public(connection, record.public_key)
    assert changed is not None  # noqa: S101 - found above, in this transaction
    return changed


def _find(connection: Connection, name: str) -> list[KeyRecord]:
    """Keys with this id, fingerprint or public key; a public key is found by the index."""
    if (known := _by_public(connection, name)) is not None:
        return [known]
    named = or_(
        keys.c.id == name,
        keys.c.fingerprint == name,
        keys.c.public_key == name,
        and_(keys.c.salt_fingerprint == name, keys.c.salt_fingerprint != ""),
    )
    return [_record(row) for row in connection.execute(_rows.where(named).order_by(keys.c.first_seen))]


def _the_one(found: Sequence[KeyRecord], name: str, state: KeyStatus) -> KeyRecord:
    """An id may have several keys; then the one that this change is about must be clear."""
    if not found:
        raise KeyUnknown(f"there is no key of {name!r}")
    movable = [record for record in found if record.state != state] or list(found)
    if len(movable) > 1:
        prints = ", ".join(f"{record.fingerprint} ({record.state})" for record in movable)
        raise KeyConflict(f"{len(movable)} keys ask for {name!r}; say which by its fingerprint: {prints}")
    return movable[0]


def _by_public(connection: Connection, public_key: str) -> KeyRecord | None:
    row = connection.execute(_row_of, {"asked": public_key}).first()
    return None if row is None else _record(row)


def _record(row: Row[*tuple[object, ...]]) -> KeyRecord:
    columns = dict(row._mapping)
    columns.pop("id_folded")
    columns["conflict"] = bool(columns["conflict"])
    return KeyRecord(**columns)
