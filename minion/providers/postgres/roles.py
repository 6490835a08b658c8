"""Roles of a PostgreSQL server: users, and groups, which are roles that do not log in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minion.machine.plan import Reader
from minion.providers.postgres.session import PostgresSession
from minion.providers.postgres.sql import identifier, literal

ROLE_FLAGS: Mapping[str, tuple[str, str]] = {
    "createdb": ("rolcreatedb", "CREATEDB"),
    "inherit": ("rolinherit", "INHERIT"),
    "login": ("rolcanlogin", "LOGIN"),
    "createroles": ("rolcreaterole", "CREATEROLE"),
    "replication": ("rolreplication", "REPLICATION"),
    "superuser": ("rolsuper", "SUPERUSER"),
}
"""Argument → column of pg_roles, and the word of CREATE ROLE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresRole:
    """A role that is there."""

    flags: Mapping[str, bool]
    """By argument."""
    groups: Sequence[str]
    kept_password: str = field(default="", repr=False)
    """The verifier, where it was asked for."""
    expires_so: bool = True
    """Whether its password ends when it shall."""


def role_of(
    machine: Reader, session: PostgresSession, name: str, *, password: bool = False, valid_until: str | None = None
) -> PostgresRole | None:
    """A role; None when there is none.

    Args:
        machine: where psql runs.
        session: any database of the server.
        name: of the role.
        password: whether its verifier is wanted, which only a superuser may see.
        valid_until: when its password shall end; StateFailed when that is no time.
    """
    identifier(name)
    until = f"{literal(valid_until)}::timestamptz(0)" if valid_until is not None else "NULL::timestamptz(0)"
    columns = [
        "r.rolname",
        *(f"r.{column} AS {argument}" for argument, (column, _) in ROLE_FLAGS.items()),
        "array_to_json(ARRAY(SELECT g.rolname FROM pg_catalog.pg_auth_members m"
        " JOIN pg_catalog.pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid)) AS groups",
        "r.rolvaliduntil::timestamptz(0) IS NOT DISTINCT FROM w.until AS expires_so",
    ]
    if password:
        columns.append("(SELECT a.rolpassword FROM pg_catalog.pg_authid a WHERE a.oid = r.oid) AS kept")
    found = session.rows(
        machine,
        f"SELECT {', '.join(columns)} FROM (SELECT {until} AS until) w"
        f" LEFT JOIN pg_catalog.pg_roles r ON r.rolname = {literal(name)}",
    )[0]
    if not found["rolname"]:
        return None
    return PostgresRole(
        flags={argument: found[argument] == "t" for argument in ROLE_FLAGS},
        groups=json.loads(found["groups"]),
        kept_password=found.get("kept", ""),
        expires_so=valid_until is None or found["expires_so"] == "t",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOptions:
    """What CREATE ROLE and ALTER ROLE are told."""

    flags: Mapping[str, bool] = field(default_factory=dict)
    verifier: str | None = field(default=None, repr=False)
    """Empty: the role has no password."""
    valid_until: str | None = None
    connections: int | None = None
    groups: Sequence[str] = ()

    def statements(self, verb: str, name: str) -> list[str]:
        """The statements; `verb` is CREATE or ALTER."""
        words = [ROLE_FLAGS[one][1] if on else f"NO{ROLE_FLAGS[one][1]}" for one, on in self.flags.items()]
        if self.connections is not None:
            words.append(f"CONNECTION LIMIT {self.connections}")
        if self.verifier is not None:
            words.append(f"PASSWORD {literal(self.verifier) if self.verifier else 'NULL'}")
        if self.valid_until is not None:
            words.append(f"VALID UNTIL {literal(self.valid_until)}")
        role = identifier(name)
        grants = [f"GRANT {identifier(group)} TO {role}" for group in self.groups]
        if verb == "ALTER" and not words:
            return grants
        return [f"{verb} ROLE {role}{' WITH ' if words else ''}{' '.join(words)}", *grants]
