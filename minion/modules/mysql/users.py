"""Functions of `mysql` about users and what they may."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from minion.arguments.types import Ignored, IsTrue, Pairs, Value
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.mysql import accounts
from minion.providers.mysql import grants as granted
from minion.providers.mysql.accounts import NATIVE, AccountPassword, MysqlServerKind, MysqlUser
from minion.providers.mysql.grants import GrantLevel
from minion.providers.mysql.session import MysqlLogin, session_of
from minion.providers.mysql.sql import account

_FOUND = Ignored("what the server keeps of a password is found without it")


class UserGrant(NamedTuple):
    """What is granted to whom."""

    grant: str
    database: str
    user: str
    host: str = "localhost"
    grant_option: IsTrue = False
    escape: bool = True

    def parsed(self) -> tuple[list[granted.Privilege], GrantLevel]:
        """The privileges, and what they are on. StateFailed for what is none."""
        return granted.privileges_of(self.grant), GrantLevel.of(self.database, escape=self.escape)


def user_list(context: Context, login: MysqlLogin) -> list[dict[str, Any]]:
    """The users, each with its host."""
    query = "SELECT User, Host FROM mysql.user"
    return [dict(row) for row in session_of(context.machine, login).rows(context.machine, query)]


def user_exists(
    context: Context, user: str, host: str = "localhost", password: str | None = None,
    password_hash: str | None = None, passwordless: IsTrue = False, unix_socket: IsTrue = False,
    password_column: Annotated[Value, _FOUND] = None, *, login: MysqlLogin,
) -> bool:  # fmt: skip
    """Whether there is a user, let in so. A password of another plugin than the native one cannot be compared."""
    kind, found = _found(context, user, host, login)
    if found is None:
        return False
    if passwordless:
        return found.plugin == kind.socket_plugin if unix_socket else not found.kept
    if password or password_hash:
        secret = AccountPassword(text=password or password_hash or "", is_hash=not password, plugin=found.plugin)
        return found.has_password(secret) is not False
    return True


def user_info(context: Context, user: str, host: str = "localhost", *, login: MysqlLogin) -> dict[str, Any] | None:
    """What the server keeps of a user; null where there is none."""
    _, found = _found(context, user, host, login)
    return None if found is None else dict(found.row)


def user_create(
    context: Context, user: str, host: str = "localhost", password: str | None = None,
    password_hash: str | None = None, allow_passwordless: IsTrue = False, unix_socket: bool = False,
    password_column: Annotated[Value, _FOUND] = None, auth_plugin: str = NATIVE, *, login: MysqlLogin,
) -> bool:  # fmt: skip
    """Make a user; false where it is there."""
    kind, found = _found(context, user, host, login)
    if found is not None:
        return False
    secret = _secret(password, password_hash, auth_plugin, unix_socket or allow_passwordless)
    if unix_socket:
        accounts.require_plugin(context.machine, session_of(context.machine, login), kind.socket_plugin, host)
    statement = accounts.creation(kind, user, host, None if unix_socket else secret, by_socket=unix_socket)
    _carry_out(context, login, [statement], f"Failed to create user {user}@{host}")
    return True


def user_chpass(
    context: Context, user: str, host: str = "localhost", password: str | None = None,
    password_hash: str | None = None, allow_passwordless: IsTrue = False, unix_socket: bool = False,
    password_column: Annotated[Value, _FOUND] = None, *, login: MysqlLogin,
) -> bool:  # fmt: skip
    """Give a user another password, or none; false where there is no such user."""
    kind, found = _found(context, user, host, login)
    if found is None:
        return False
    plugin = NATIVE if found.plugin in ("", kind.socket_plugin) else found.plugin
    secret = _secret(password, password_hash, plugin, allow_passwordless)
    by_socket = bool(unix_socket and secret is None)
    if by_socket:
        accounts.require_plugin(context.machine, session_of(context.machine, login), kind.socket_plugin, host)
    statement = accounts.alteration(kind, user, host, secret, by_socket=by_socket)
    _carry_out(context, login, [statement], f"Failed to change password for user {user}@{host}")
    return True


def user_remove(context: Context, user: str, host: str = "localhost", *, login: MysqlLogin) -> bool:
    """Take a user away; false where there is none."""
    if _found(context, user, host, login)[1] is None:
        return False
    _carry_out(context, login, [f"DROP USER {account(user, host)}"], f"Failed to remove user {user}@{host}")
    return True


def user_grants(context: Context, user: str, host: str = "localhost", *, login: MysqlLogin) -> list[str] | bool:
    """The statements that would give a user what it may, without passwords; false where there is none."""
    shown = granted.shown_grants(context.machine, session_of(context.machine, login), user, host)
    return False if shown is None else shown


def tokenize_grant(context: Context, grant: str) -> dict[str, Any]:
    """The parts of a statement GRANT: `user`, `host`, `grant`, `database`."""
    parsed = granted.parsed_grant(grant)
    if parsed is None:
        raise CallFailed(f"This is no GRANT of privileges: {grant}")
    names = list[str]()
    for name, column in parsed.privileges:
        names += [name] * (name not in names) + ([f"{name}.`{column}`"] if column else [])
    return {"user": parsed.user, "host": parsed.host, "grant": names, "database": parsed.level}


def grant_exists(context: Context, given: UserGrant, login: MysqlLogin) -> bool:
    """Whether a user has privileges on `database`, such as `db.*`; with `grant_option` whether it may give them on."""
    machine, session = context.machine, session_of(context.machine, login)
    wanted, level = given.parsed()
    kind, found, shown = granted.user_with_grants(machine, session, given.user, given.host)
    if found is None:
        return False
    held = granted.held_on(shown, level)
    every = granted.every_privilege(machine, session) if granted.is_unspoken(kind, level, wanted) else frozenset()
    return not held.lacks(wanted, every) and (held.grantable or not given.grant_option)


def grant_add(
    context: Context, given: UserGrant, ssl_option: Pairs = {}, *, login: MysqlLogin  # noqa: B006  (never changed)
) -> bool:  # fmt: skip
    """Give privileges to a user. `ssl_option` has its connections be encrypted."""
    wanted, level = given.parsed()
    who = account(given.user, given.host)
    statements = [granted.giving(level.text, wanted, who, grantable=given.grant_option)]
    if ssl_option:
        _, found = _found(context, given.user, given.host, login)
        if found is None:
            raise CallFailed(f"There is no user {given.user}@{given.host}")
        statements += accounts.tls_requirement(found, who, accounts.tls_wanted(ssl_option))
    _carry_out(context, login, statements, f"Failed to grant {given.grant} on {given.database}")
    return True


def grant_revoke(context: Context, given: UserGrant, login: MysqlLogin) -> bool:
    """Take privileges from a user; with `grant_option` also that it may give privileges on."""
    wanted, level = given.parsed()
    who = account(given.user, given.host)
    statements = granted.taking(level.text, wanted, who, grantable=given.grant_option)
    _carry_out(context, login, statements, f"Failed to revoke {given.grant} on {given.database}")
    return True


def verify_login(context: Context, user: str, password: str | None = None, *, login: MysqlLogin) -> bool:
    """Whether the server lets a user in with this password."""
    own = login._replace(connection_user=user, connection_pass=password)
    return not session_of(context.machine, own).refuses(context.machine)


def _found(context: Context, user: str, host: str, login: MysqlLogin) -> tuple[MysqlServerKind, MysqlUser | None]:
    return accounts.found_user(context.machine, session_of(context.machine, login), user, host)


def _secret(password: str | None, password_hash: str | None, plugin: str, optional: bool) -> AccountPassword | None:
    given = password or password_hash
    if not given and not optional:
        raise CallFailed("password or password_hash must be specified, unless allow_passwordless=True")
    return AccountPassword(text=given, is_hash=not password, plugin=plugin) if given else None


def _carry_out(context: Context, login: MysqlLogin, statements: list[str], failed: str) -> None:
    session_of(context.machine, login).carry_out(context.machine, statements, failed)
