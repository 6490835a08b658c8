"""The state module `mysql_user`.

Behaviour: doc/ref/states/all/salt.states.mysql_user. A password is in no change and no comment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from minion.arguments.types import Ignored, IsTrue, ToCome, Value
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.mysql import accounts
from minion.providers.mysql.accounts import NATIVE, AccountPassword, MysqlUser
from minion.providers.mysql.session import MysqlLogin, MysqlSession, session_of
from minion.providers.mysql.sql import account
from minion.states.mysql.plans import changing

_FOUND = Ignored("what the server keeps of a password is found without it")


class _Way(NamedTuple):
    """How a user is let in."""

    secret: AccountPassword | None
    passwordless: bool
    by_socket: bool

    def fits(self, found: MysqlUser, socket_plugin: str) -> bool | None:
        """Whether it is that of a user; None where that cannot be told."""
        if self.secret is not None:
            return found.has_password(self.secret)
        if self.by_socket:
            return found.plugin == socket_plugin
        return not found.kept


def present(
    machine: Reader,
    name: str,
    *,
    host: str = "localhost",
    password: str | None = None,
    password_hash: str | None = None,
    allow_passwordless: IsTrue = False,
    unix_socket: bool = False,
    password_column: Annotated[Value, _FOUND] = None,
    auth_plugin: str = NATIVE,
    login: MysqlLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The server has this user, with this password.

    `password` comes before `password_hash`. Without both the user needs none (`allow_passwordless`), or is let in by
    the socket (`unix_socket`). A password of another plugin than `mysql_native_password` is set for a new user, and
    cannot be compared.
    """
    given = password or password_hash
    if given and unix_socket:
        raise StateFailed("A user that is let in by unix_socket has no password: leave one of them out")
    if not given and not allow_passwordless and not unix_socket:
        raise StateFailed("Either password or password_hash must be specified, unless allow_passwordless is True")
    secret = AccountPassword(text=given, is_hash=not password, plugin=auth_plugin) if given else None
    way = _Way(secret, allow_passwordless, unix_socket)
    session = session_of(machine, login, to_come)
    kind, found = accounts.found_user(machine, session, name, host)
    who = f"{name}@{host}"
    if found is None:
        if unix_socket:
            accounts.require_plugin(machine, session, kind.socket_plugin, host)
        how = (" with passwordless login" if allow_passwordless and not given else "") + (
            " using unix_socket" if unix_socket else ""
        )
        return changing(
            session, name, "Present", [accounts.creation(kind, name, host, secret, by_socket=unix_socket)],
            pending=f"User {who} is set to be added{how}", done=f"The user {who} has been added{how}",
            failed=f"Failed to create user {who}",
        )  # fmt: skip
    fits = way.fits(found, kind.socket_plugin)
    if fits is not False:
        return Plan(comment=f"User {who} is already present{_as_wanted(way, fits)}")
    return _changed(machine, session, name, host, way)


def _as_wanted(way: _Way, fits: bool | None) -> str:
    if way.secret is None:
        return " with passwordless login" if way.passwordless else ""
    if fits is None:
        return ". Unable to verify password."
    return " with the desired password" + (" hash" if way.secret.is_hash else "")


def _changed(machine: Reader, session: MysqlSession, name: str, host: str, way: _Way) -> Plan:
    who, verb = f"{name}@{host}", "change" if way.secret else "clear"
    if way.secret is None and not way.passwordless:
        raise StateFailed(
            f"Failed to clear password for user {who}. Note: allow_passwordless must be True to permit passwordless"
            " login."
        )
    kind = accounts.server_kind(machine, session)
    if way.by_socket:
        accounts.require_plugin(machine, session, kind.socket_plugin, host)
    done = "changed" if way.secret else "cleared"
    return changing(
        session, name, "Updated", [accounts.alteration(kind, name, host, way.secret, by_socket=way.by_socket)],
        pending=f"Password for user {who} is set to be {done}", done=f"Password for user {who} has been {done}",
        failed=f"Failed to {verb} password for user {who}",
    )  # fmt: skip


def absent(
    machine: Reader, name: str, *, host: str = "localhost", login: MysqlLogin, to_come: ToCome = frozenset()
) -> Plan:  # fmt: skip
    """The server has no such user."""
    session = session_of(machine, login, to_come)
    who = f"{name}@{host}"
    if accounts.found_user(machine, session, name, host)[1] is None:
        return Plan(comment=f"User {who} is not present, so it cannot be removed")
    return changing(
        session, name, "Absent", [f"DROP USER {account(name, host)}"],
        pending=f"User {who} is set to be removed", done=f"User {who} has been removed", failed="",
    )  # fmt: skip


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
