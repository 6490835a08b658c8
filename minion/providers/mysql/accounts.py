"""Users of a server: what it knows of them, and the statements that make and change them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.mysql.session import MysqlSession, ResultRow
from minion.providers.mysql.sql import account, literal, word

NATIVE = "mysql_native_password"
SOCKET_PLUGINS = {"mariadb": "unix_socket", "mysql": "auth_socket"}
_OWN_PASSWORD = ("", NATIVE)
"""Plugins whose password can be compared: the native one, which old servers leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlServerKind:
    """Which server it is."""

    version: str

    @property
    def is_mariadb(self) -> bool:
        """MariaDB, or else MySQL and its kin."""
        return "mariadb" in self.version.lower()

    @property
    def socket_plugin(self) -> str:
        """The plugin that lets a user of the system in by the socket."""
        return SOCKET_PLUGINS["mariadb" if self.is_mariadb else "mysql"]

    def at_least(self, *numbers: int) -> bool:
        """Whether it is this version or a newer one."""
        return tuple(map(int, re.findall(r"\d+", self.version)[: len(numbers)])) >= numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlUser:
    """A user that the server has."""

    plugin: str
    kept: str = field(repr=False)
    """What the server keeps of the password."""
    row: ResultRow = field(repr=False)
    """All that mysql.user says."""

    def has_password(self, wanted: AccountPassword) -> bool | None:
        """Whether it is this password; None where that cannot be told."""
        if self.plugin not in _OWN_PASSWORD:
            return None if self.plugin == wanted.plugin else False
        return self.kept == wanted.native()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPassword:
    """The password of a user: plain, or what the server keeps of it."""

    text: str = field(repr=False)
    is_hash: bool = False
    plugin: str = NATIVE

    def native(self) -> str:
        """What the plugin mysql_native_password keeps of it."""
        if self.is_hash:
            return self.text
        inner = hashlib.sha1(self.text.encode()).digest()  # noqa: S324  (what the plugin does)
        return f"*{hashlib.sha1(inner).hexdigest().upper()}"  # noqa: S324


def found_user(
    machine: Reader, session: MysqlSession, user: str, host: str
) -> tuple[MysqlServerKind, MysqlUser | None]:
    """Which server it is, and the user where it has that."""
    versions, users = session.sets(machine, _questions(user, host))
    return _kind_and_user(versions, users)


def user_and_more(
    machine: Reader, session: MysqlSession, user: str, host: str, query: str
) -> tuple[MysqlServerKind, MysqlUser | None, list[ResultRow]]:
    """The same, and what another question gives, asked at once."""
    versions, users, more = session.sets(machine, [*_questions(user, host), query])
    return *_kind_and_user(versions, users), more


def _questions(user: str, host: str) -> list[str]:
    where = f"User = {literal(user)} AND Host = {literal(host.lower())}"
    return ["SELECT VERSION() AS v", f"SELECT * FROM mysql.user WHERE {where}"]


def _kind_and_user(versions: list[ResultRow], users: list[ResultRow]) -> tuple[MysqlServerKind, MysqlUser | None]:
    kind = MysqlServerKind(version=str(versions[0]["v"]))
    if not users:
        return kind, None
    row = users[0]
    return kind, MysqlUser(
        plugin=row.get("plugin") or "",
        kept=row.get("authentication_string") or row.get("Password") or "",
        row=row,
    )


def server_kind(machine: Reader, session: MysqlSession) -> MysqlServerKind:
    """Which server it is."""
    return MysqlServerKind(version=str(session.rows(machine, "SELECT VERSION() AS v")[0]["v"]))


def creation(kind: MysqlServerKind, user: str, host: str, secret: AccountPassword | None, *, by_socket: bool) -> str:
    """The statement that makes a user; without a secret one that needs no password."""
    return f"CREATE USER {account(user, host)}{_identified(kind, secret, by_socket=by_socket)}"


def alteration(kind: MysqlServerKind, user: str, host: str, secret: AccountPassword | None, *, by_socket: bool) -> str:
    """The statement that changes the password of a user, or how it is let in."""
    who = account(user, host)
    if secret is None and not by_socket:
        return f"SET PASSWORD FOR {who} = ''" if not kind.is_mariadb else f"ALTER USER {who} IDENTIFIED BY ''"
    return f"ALTER USER {who}{_identified(kind, secret, by_socket=by_socket)}"


def _identified(kind: MysqlServerKind, secret: AccountPassword | None, *, by_socket: bool) -> str:
    via = "VIA" if kind.is_mariadb else "WITH"
    if by_socket:
        return f" IDENTIFIED {via} {kind.socket_plugin}"
    if secret is None:
        return ""
    plugin, text = word(secret.plugin, "plugin"), literal(secret.text)
    if kind.is_mariadb and plugin == NATIVE:
        return f" IDENTIFIED BY {'PASSWORD ' if secret.is_hash else ''}{text}"
    if kind.is_mariadb:
        return f" IDENTIFIED VIA {plugin} USING {text if secret.is_hash else f'PASSWORD({text})'}"
    if kind.at_least(5, 7):
        return f" IDENTIFIED WITH {plugin} {'AS' if secret.is_hash else 'BY'} {text}"
    return f" IDENTIFIED BY {'PASSWORD ' if secret.is_hash else ''}{text}"


def require_plugin(machine: Reader, session: MysqlSession, plugin: str, host: str) -> None:
    """StateFailed where users cannot be let in by the socket."""
    if host.lower() != "localhost":
        raise StateFailed("Auth via unix_socket can be set only for host=localhost")
    query = f"SELECT PLUGIN_STATUS AS s FROM information_schema.PLUGINS WHERE PLUGIN_NAME = {literal(plugin)}"
    if [row["s"] for row in session.rows(machine, query)] != ["ACTIVE"]:
        raise session.lacking(f"The {plugin} plugin is not enabled.")


_TLS_COLUMNS = {"CIPHER": "ssl_cipher", "ISSUER": "x509_issuer", "SUBJECT": "x509_subject"}
_TLS_KINDS = {"SSL": "ANY", "X509": "X509"}


def tls_requirement(user: MysqlUser, account_text: str, wanted: Mapping[str, object]) -> list[str]:
    """The statement that has connections of a user be encrypted as it is wanted; none where they are.

    Args:
        user: as the server has it.
        account_text: the user in SQL.
        wanted: SSL, X509, CIPHER, ISSUER, SUBJECT.
    """
    texts = {key: str(wanted[key]) for key in _TLS_COLUMNS if wanted.get(key)}
    kinds = [key for key in _TLS_KINDS if wanted.get(key)]
    kind = "SPECIFIED" if texts else _TLS_KINDS[kinds[-1]] if kinds else ""
    has = {key: user.row.get(column) or "" for key, column in _TLS_COLUMNS.items()}
    same = all(has[key] == texts.get(key, "") for key in has)
    if (user.row.get("ssl_type") or "") == kind and same:
        return []
    parts = [f"{key} {literal(text)}" for key, text in texts.items()] or kinds[-1:] or ["NONE"]
    return [f"ALTER USER {account_text} REQUIRE {' AND '.join(parts)}"]


def tls_wanted(given: Mapping[str, object]) -> dict[str, object]:
    """What the argument `ssl_option` asks for, in capitals. StateFailed for what there is not."""
    wanted = {str(key).strip().upper(): value for key, value in given.items()}
    unknown = [key for key in wanted if key not in ("SSL", "X509", "SUBJECT", "ISSUER", "CIPHER")]
    if unknown:
        raise StateFailed(f"Invalid SSL option : '{unknown[0]}'")
    return wanted
