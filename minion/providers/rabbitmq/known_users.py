"""The users of a broker, with what they may and whether a password is theirs.

One run of rabbitmqctl shows it all as the broker's definitions; where it does not, each is asked for by a run of its
own. Called by the state `rabbitmq_user`. Hashes of passwords: https://www.rabbitmq.com/docs/passwords.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from minion.machine.plan import Reader
from minion.providers.rabbitmq.broker import KINDS, Broker, permissions, users

_HASHES = {f"rabbit_password_hashing_{name}": name for name in ("md5", "sha256", "sha512")}
_SALT = 4
"""Bytes of a hash before the digest."""


class KnownUsers:
    """Users of a broker: names and tags, and where asked for permissions and hashes of passwords.

    Args:
        machine: where the programs run.
        broker: that is asked.
        whole: whether more is wanted than names and tags.
    """

    def __init__(self, machine: Reader, broker: Broker, *, whole: bool) -> None:
        self._machine = machine
        self._broker = broker
        self._shown: Mapping[str, Any] | None = broker.definitions(machine) if whole else None

    def tags(self) -> dict[str, list[str]]:
        """User -> tags. Raises as `Broker.rows` does; so do the others."""
        if self._shown is None:
            return users(self._machine, self._broker)
        return {row["name"]: _as_list(row["tags"]) for row in self._shown["users"]}

    def permissions(self, name: str) -> Mapping[str, Mapping[str, str]]:
        """Virtual host -> what a user may there."""
        if self._shown is None:
            return permissions(self._machine, self._broker, "vhost", "list_user_permissions", "--", name)
        rows = [row for row in self._shown.get("permissions") or () if row["user"] == name]
        return {row["vhost"]: {kind: row[kind] for kind in KINDS} for row in rows}

    def lets_in(self, name: str, password: str) -> bool:
        """Whether this is the password of a user."""
        rows = self._shown["users"] if self._shown is not None else ()
        row: Mapping[str, Any] = next((one for one in rows if one["name"] == name), {})
        method = _HASHES.get(row.get("hashing_algorithm", ""))
        if method is None:
            return self._broker.lets_in(self._machine, name, password)
        kept = base64.b64decode(row.get("password_hash") or "")
        made = hashlib.new(method, kept[:_SALT] + password.encode()).digest()
        return hmac.compare_digest(kept[_SALT:], made)


def _as_list(tags: list[str] | str) -> list[str]:
    """Before 3.9 tags were a text with commas."""
    return [one for one in tags.split(",") if one] if isinstance(tags, str) else list(tags)
