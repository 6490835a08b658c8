"""Privileges of roles on objects of a database, and memberships of groups: what there is, and statements.

The server says how an object is named in GRANT, which privileges there are on it, and which of them a role holds by
itself. What it would have by being a member of another role does not count, as in Salt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.postgres.session import PostgresSession
from minion.providers.postgres.sql import identifier, literal

_ANY_OBJECT = "ALL"
_PRIVILEGES: Mapping[str, frozenset[str]] = {
    "table": frozenset(
        (
            "INSERT",
            "SELECT",
            "UPDATE",
            "DELETE",
            "TRUNCATE",
            "REFERENCES",
            "TRIGGER",
            "MAINTAIN",
        )  # the last: from 17 on
    ),
    "tablespace": frozenset(("CREATE",)),
    "language": frozenset(("USAGE",)),
    "sequence": frozenset(("SELECT", "UPDATE", "USAGE")),
    "schema": frozenset(("USAGE", "CREATE")),
    "database": frozenset(("CREATE", "TEMPORARY", "CONNECT")),
    "function": frozenset(("EXECUTE",)),
}
_IN_SCHEMAS = ("table", "sequence", "function")
_RELATIONS = {"table": "'r', 'v', 'm', 'f', 'p'", "sequence": "'S'"}
_NAMED = {
    "schema": ("pg_namespace", "nspname", "nspowner", "nspacl", "n"),
    "tablespace": ("pg_tablespace", "spcname", "spcowner", "spcacl", "t"),
    "language": ("pg_language", "lanname", "lanowner", "lanacl", "l"),
    "database": ("pg_database", "datname", "datdba", "datacl", "d"),
}
"""Type of object → table of the catalog, its columns of name, owner and privileges, letter of acldefault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresObject:
    """What privileges are granted on."""

    name: str
    """Of a role for the type `group`; `ALL`: all tables, sequences or functions of the schema."""
    kind: str
    schema: str = "public"

    @classmethod
    def checked(cls, name: str, kind: str, schema: str | None) -> PostgresObject:
        """From the arguments; StateFailed for a type of object that there is not."""
        kind = kind.lower()
        if kind != "group" and kind not in _PRIVILEGES:
            raise StateFailed(f"Invalid object_type: {kind} provided")
        identifier(name) if kind != "function" else literal(name)
        return cls(name=name, kind=kind, schema=schema or "public")

    @property
    def is_group(self) -> bool:
        """Whether it is a role that others are members of."""
        return self.kind == "group"

    @property
    def is_every(self) -> bool:
        """Whether it stands for all objects of a schema."""
        return self.kind in _IN_SCHEMAS and self.name.upper() == _ANY_OBJECT

    def privileges(self, given: Sequence[str] | None) -> tuple[str, ...]:
        """The privileges that are meant, in capitals; StateFailed for those that such an object has not."""
        if self.is_group:
            if given:
                raise StateFailed("The privileges option should not be set for object_type group")
            return ()
        wanted = tuple(dict.fromkeys(one.strip().upper() for one in given or ()))
        if not wanted or not set(wanted) <= {*_PRIVILEGES[self.kind], "ALL"}:
            raise StateFailed(f"Invalid privilege(s): {','.join(given or ())} provided for object {self.kind}")
        return ("ALL",) if "ALL" in wanted else wanted

    def source(self) -> str:
        """A query of the objects that are meant: `target` in GRANT, `owner`, `acl`, `own`, what its owner may do."""
        if self.kind in _RELATIONS:
            letter = "r" if self.kind == "table" else "s"
            which = "" if self.is_every else f" AND c.relname = {literal(self.name)}"
            return (
                f"SELECT format('%I.%I', n.nspname, c.relname) AS target, c.relowner AS owner, c.relacl AS acl,"
                f" acldefault('{letter}', c.relowner) AS own FROM pg_catalog.pg_class c"
                f" JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
                f" WHERE n.nspname = {literal(self.schema)} AND c.relkind IN ({_RELATIONS[self.kind]}){which}"
            )
        if self.kind == "function":
            return self._functions()
        table, name, owner, acl, letter = _NAMED[self.kind]
        return (
            f"SELECT format('%I', o.{name}) AS target, o.{owner} AS owner, o.{acl} AS acl,"
            f" acldefault('{letter}', o.{owner}) AS own FROM pg_catalog.{table} o WHERE o.{name} = {literal(self.name)}"
        )

    def _functions(self) -> str:
        """A function is named by its signature, as `'f(integer)'::regprocedure` shows it; or by its name alone where
        there is one of this name."""
        which = ""
        if not self.is_every:
            full = literal(f"{identifier(self.schema)}.{self.name}")
            found = "to_regprocedure" if self.name.rstrip().endswith(")") else "to_regproc"
            which = f" AND (p.oid::regprocedure::text = {literal(self.name)} OR p.oid = {found}({full}))"
        return (
            "SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid))"
            " AS target, p.proowner AS owner, p.proacl AS acl, acldefault('f', p.proowner) AS own"
            " FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
            f" WHERE n.nspname = {literal(self.schema)}{which}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPrivileges:
    """What a role holds on one object."""

    target: str
    """The object in GRANT."""
    owner: str
    possible: frozenset[str]
    """What there is to hold, on this server."""
    held: Mapping[str, bool]
    """Privilege → whether it may be granted on."""

    def of(self, wanted: Sequence[str]) -> frozenset[str]:
        """The privileges that are meant."""
        return self.possible if "ALL" in wanted else frozenset(wanted)

    def has(self, wanted: Sequence[str], *, grant_option: bool) -> bool:
        """Whether it holds all of these, where `grant_option` is given so that it may grant them on."""
        return all(one in self.held and (self.held[one] or not grant_option) for one in self.of(wanted))


def held_on(machine: Reader, session: PostgresSession, role: str, what: PostgresObject) -> list[HeldPrivileges]:
    """What a role holds on each of the objects that are meant; none where there is no such object."""
    identifier(role)
    grantee = (
        "0" if role == "public" else f"(SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = {literal(role)})"
    )
    listed: Callable[[str, str, str], str] = lambda shown, of, who: (  # noqa: E731
        f"array_to_string(ARRAY(SELECT {shown} FROM aclexplode({of}) e WHERE e.grantee = {who}), ',')"
    )
    with_option = "e.privilege_type || CASE WHEN e.is_grantable THEN '*' ELSE '' END"
    rows = session.rows(
        machine,
        f"SELECT o.target, pg_catalog.pg_get_userbyid(o.owner) AS owner,"
        f" {listed('e.privilege_type', 'o.own', 'o.owner')} AS possible,"
        f" {listed(with_option, 'COALESCE(o.acl, o.own)', grantee)} AS held FROM ({what.source()}) o",
    )
    return [
        HeldPrivileges(
            target=row["target"],
            owner=row["owner"],
            possible=frozenset(filter(None, row["possible"].split(","))),
            held={one.rstrip("*"): one.endswith("*") for one in row["held"].split(",") if one},
        )
        for row in rows
    ]


def has_role(machine: Reader, session: PostgresSession, name: str) -> bool:
    """Whether there is a role, or it is everybody."""
    query = f"SELECT 1 AS one FROM pg_catalog.pg_roles WHERE rolname = {literal(name)}"
    return name == "public" or bool(session.rows(machine, query))


def membership(machine: Reader, session: PostgresSession, role: str, group: str) -> bool | None:
    """Whether a role may make others members of a group; None when it is no member itself."""
    return members_of(machine, session, group).get(role)


def members_of(machine: Reader, session: PostgresSession, group: str) -> dict[str, bool]:
    """Member of a group → whether it may make others members."""
    rows = session.rows(
        machine,
        "SELECT r.rolname, bool_or(m.admin_option) AS admin FROM pg_catalog.pg_auth_members m"
        " JOIN pg_catalog.pg_roles r ON r.oid = m.member JOIN pg_catalog.pg_roles g ON g.oid = m.roleid"
        f" WHERE g.rolname = {literal(group)} GROUP BY r.rolname ORDER BY r.rolname",
    )
    return {row["rolname"]: row["admin"] == "t" for row in rows}


def all_granted(machine: Reader, session: PostgresSession, what: PostgresObject) -> dict[str, dict[str, bool]]:
    """Role → privilege → whether it may grant it on, as far as anything was granted; everybody is `public`."""
    rows = session.rows(
        machine,
        "SELECT CASE e.grantee WHEN 0 THEN 'public' ELSE pg_catalog.pg_get_userbyid(e.grantee) END AS role,"
        f" e.privilege_type, e.is_grantable FROM ({what.source()}) o, aclexplode(o.acl) e",
    )
    found: dict[str, dict[str, bool]] = {}
    for row in rows:
        found.setdefault(row["role"], {})[row["privilege_type"]] = row["is_grantable"] == "t"
    return found


def has_all(
    machine: Reader,
    session: PostgresSession,
    role: str,
    what: PostgresObject,
    wanted: Sequence[str],
    *,
    grant_option: bool = False,
) -> bool:
    """Whether a role holds all of these privileges, or owns the object."""
    if what.is_group:
        admin = membership(machine, session, role, what.name)
        return admin is not None and (admin or not grant_option)
    found = held_on(machine, session, role, what)
    return bool(found) and all(one.owner == role or one.has(wanted, grant_option=grant_option) for one in found)


def grant_statement(
    role: str, what: PostgresObject, targets: Sequence[str], wanted: Sequence[str], *, grant_option: bool
) -> str:
    """The statement that grants; `targets` are the objects as the server names them."""
    if what.is_group:
        option = " WITH ADMIN OPTION" if grant_option else ""
        return f"GRANT {identifier(what.name)} TO {identifier(role)}{option}"
    option = " WITH GRANT OPTION" if grant_option else ""
    return f"GRANT {','.join(wanted)} ON {_on(what, targets)} TO {identifier(role)}{option}"


def revoke_statement(role: str, what: PostgresObject, targets: Sequence[str], wanted: Sequence[str]) -> str:
    """The statement that revokes."""
    if what.is_group:
        return f"REVOKE {identifier(what.name)} FROM {identifier(role)}"
    return f"REVOKE {','.join(wanted)} ON {_on(what, targets)} FROM {identifier(role)}"


def _on(what: PostgresObject, targets: Sequence[str]) -> str:
    word = what.kind.upper()
    if what.is_every:
        return f"ALL {word}S IN SCHEMA {identifier(what.schema)}"
    return f"{word} {', '.join(targets)}"
