"""Privileges of users, as SHOW GRANTS tells them, and the statements that give and take them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.mysql import accounts
from minion.providers.mysql.accounts import MysqlServerKind, MysqlUser
from minion.providers.mysql.session import MysqlSession
from minion.providers.mysql.sql import account, identifier, pattern, quoted_name

ALL = "ALL PRIVILEGES"
_OPTION = "GRANT OPTION"
_NO_SUCH = ("MySQL Error 1141:", "MySQL Error 1133:")
_ALIASES: Mapping[str, str] = {
    "ALL": ALL,
    "BINLOG MONITOR": "REPLICATION CLIENT",
    "DELETE VERSIONING ROWS": "DELETE HISTORY",
    "REPLICA MONITOR": "SLAVE MONITOR",
    "REPLICATION REPLICA": "REPLICATION SLAVE",
    "REPLICATION REPLICA ADMIN": "REPLICATION SLAVE ADMIN",
}
"""Privileges that a server knows by two names, and tells by either (https://mariadb.com/kb/en/grant/)."""
_PRIVILEGE = re.compile(r"\s*([A-Za-z][A-Za-z_ ]*[A-Za-z])\s*(?:\(([^()]*)\)\s*)?(?:,|\Z)")
_TOKEN = re.compile(r"`(?:[^`]|``)*`|'(?:[^']|'')*'|[A-Za-z0-9_$]+|[^\s]")

Privilege = tuple[str, str]
"""A privilege in capitals, and the column that it is on; empty: the whole object."""


@dataclass(frozen=True, slots=True)
class GrantLevel:
    """What privileges are on: `*.*`, a database, a table."""

    database: str
    """As SQL has it."""
    table: str

    @classmethod
    def of(cls, text: str, *, escape: bool) -> GrantLevel:
        """From `database.table`; with `escape` `_` and `%` of a database stand for themselves. StateFailed."""
        database, _, table = text.rpartition(".")
        if not database or not table:
            raise StateFailed(f"database must be such as 'db.*', 'db.table' or '*.*', not {text!r}")
        if database == "*":
            return cls("*", table if table == "*" else identifier(_bare(table, escape)))
        name = _bare(database, escape)
        quoted = pattern(name) if escape and table == "*" else quoted_name(name)
        return cls(quoted, table if table == "*" else identifier(_bare(table, escape)))

    @property
    def text(self) -> str:
        """In SQL."""
        return f"{self.database}.{self.table}"

    @property
    def key(self) -> str:
        """Equal for levels that differ in how `_` and `%` of the database are written, as in Salt."""
        return self.text.replace("\\", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldGrants:
    """What a user has on one level."""

    privileges: frozenset[Privilege]
    grantable: bool
    level: str
    """As the server has it, in SQL."""

    def lacks(self, wanted: Iterable[Privilege], every: frozenset[str]) -> list[Privilege]:
        """Those of the wanted that it does not have; `every`: what ALL PRIVILEGES stands for where nobody says it."""
        return [one for one in wanted if not self._has(one, every)]

    def has_any(self, wanted: Iterable[Privilege]) -> list[Privilege]:
        """Those of the wanted that it has, as far as they can be taken away."""
        if (ALL, "") in wanted:
            return [(ALL, "")] if self.privileges else []
        return [one for one in wanted if (ALL, "") in self.privileges or one in self.privileges]

    def _has(self, one: Privilege, every: frozenset[str]) -> bool:
        names = {name for name, column in self.privileges if not column}
        if one[0] == _OPTION:
            return self.grantable
        if one[0] == ALL and every:
            return every <= names
        return ALL in names or one in self.privileges or one[0] in names


NOTHING = HeldGrants(privileges=frozenset(), grantable=False, level="")


def privileges_of(text: str) -> list[Privilege]:
    """The privileges of `SELECT, UPDATE (a, b)`. StateFailed for what is none."""
    found, place = list[Privilege](), 0
    while place < len(text.rstrip().rstrip(",")):
        part = _PRIVILEGE.match(text, place)
        if part is None:
            raise StateFailed(f"Invalid grant : '{text[place:].strip()}'")
        name = " ".join(part[1].upper().split())
        columns = [one.strip().strip("`") for one in part[2].split(",")] if part[2] else [""]
        found += [(_ALIASES.get(name, name), column) for column in columns]
        place = part.end()
    if not found:
        raise StateFailed("grant must name a privilege")
    return found


def written(privileges: Sequence[Privilege]) -> str:
    """Privileges in SQL."""
    columns: dict[str, list[str]] = {}
    for name, column in privileges:
        columns.setdefault(name, []).extend([column] if column else [])
    return ", ".join(
        f"{name} ({', '.join(map(identifier, names))})" if names else name for name, names in columns.items()
    )


def shown_grants(machine: Reader, session: MysqlSession, user: str, host: str) -> list[str] | None:
    """The statements that SHOW GRANTS gives, without passwords; None: there is no such user."""
    try:
        rows = session.rows(machine, f"SHOW GRANTS FOR {account(user, host)}")
    except StateFailed as failure:
        if str(failure).startswith(_NO_SUCH):
            return None
        raise
    return [_without_password(str(next(iter(row.values())))) for row in rows]


def user_with_grants(
    machine: Reader, session: MysqlSession, user: str, host: str
) -> tuple[MysqlServerKind, MysqlUser | None, list[str]]:
    """`found_user` and what SHOW GRANTS gives, asked at once; a user that is not there has none."""
    try:
        query = f"SHOW GRANTS FOR {account(user, host)}"
        kind, found, rows = accounts.user_and_more(machine, session, user, host, query)
    except StateFailed as failure:
        if not str(failure).startswith(_NO_SUCH):
            raise
        return *accounts.found_user(machine, session, user, host), []
    return kind, found, [_without_password(str(next(iter(row.values())))) for row in rows]


def held_on(shown: Iterable[str], level: GrantLevel) -> HeldGrants:
    """What of the statements of SHOW GRANTS is on a level."""
    held, grantable, place = set[Privilege](), False, level.text
    for statement in shown:
        parsed = parsed_grant(statement)
        if parsed is not None and parsed.level.replace("\\", "").lower() == level.key.lower():
            held |= {one for one in parsed.privileges if one[0] != "USAGE"}
            grantable, place = grantable or parsed.grantable, parsed.level
    return HeldGrants(privileges=frozenset(held), grantable=grantable, level=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedGrant:
    """A statement GRANT in its parts."""

    privileges: tuple[Privilege, ...]
    level: str
    user: str
    host: str
    grantable: bool


def parsed_grant(statement: str) -> ParsedGrant | None:
    """The parts of a GRANT of privileges; None for one of a role or a proxy."""
    tokens = _TOKEN.findall(statement)
    if tokens[:1] != ["GRANT"] or "ON" not in tokens or "TO" not in tokens:
        return None
    on = tokens.index("ON")
    to = tokens.index("TO", on)
    if tokens[1] == "PROXY":
        return None
    given = " ".join(token for token in tokens[1:on])
    who = tokens[to + 1 :]
    return ParsedGrant(
        privileges=tuple(privileges_of(given)),
        level="".join(tokens[on + 1 : to]),
        user=_unquoted(who[0]) if who else "",
        host=_unquoted(who[2]) if who[1:2] == ["@"] and len(who) > 2 else "",
        grantable=statement.rstrip(" ;").endswith(f"WITH {_OPTION}"),
    )


def is_unspoken(kind: MysqlServerKind, level: GrantLevel, wanted: Sequence[Privilege]) -> bool:
    """Whether the server would tell ALL PRIVILEGES by their names, which are `every_privilege`."""
    return not kind.is_mariadb and kind.at_least(8) and level.text == "*.*" and (ALL, "") in wanted


def every_privilege(machine: Reader, session: MysqlSession) -> frozenset[str]:
    """All that MySQL 8 lists where ALL PRIVILEGES ON *.* were given, which it does not say by that name."""
    rows = session.rows(machine, "SHOW PRIVILEGES")
    names = {str(row["Privilege"]).upper() for row in rows}
    return frozenset(_ALIASES.get(name, name) for name in names - {_OPTION, "PROXY", "USAGE"})


def giving(level: str, privileges: Sequence[Privilege], who: str, *, grantable: bool) -> str:
    """The statement that gives privileges."""
    plain = [one for one in privileges if one[0] != _OPTION] or [("USAGE", "")]
    option = f" WITH {_OPTION}" if grantable or len(plain) < len(privileges) else ""
    return f"GRANT {written(plain)} ON {level} TO {who}{option}"


def taking(level: str, privileges: Sequence[Privilege], who: str, *, grantable: bool) -> list[str]:
    """The statements that take privileges; ALL PRIVILEGES cannot be taken together with others."""
    option = [f"REVOKE {_OPTION} ON {level} FROM {who}"] if grantable else []
    return [*([f"REVOKE {written(privileges)} ON {level} FROM {who}"] if privileges else []), *option]


def _bare(part: str, escape: bool) -> str:
    """Without `escape` a name may come in backquotes."""
    quoted = not escape and len(part) > 1 and part[0] == part[-1] == "`"
    return part[1:-1].replace("``", "`") if quoted else part


def _unquoted(token: str) -> str:
    quote = token[:1]
    return token[1:-1].replace(quote * 2, quote) if quote in ("'", "`") else token


def _without_password(statement: str) -> str:
    """As Salt shows it."""
    short = statement.partition(" IDENTIFIED BY")[0]
    option = f" WITH {_OPTION}"
    return short + option if option in statement and option not in short else short
