"""Databases of a server."""

from __future__ import annotations

from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.mysql.session import MysqlSession
from minion.providers.mysql.sql import identifier, literal, word

OF_THE_SERVER = ("information_schema", "mysql", "performance_schema", "sys")
"""Databases without which it does not work."""


class MysqlCharset(NamedTuple):
    """How a database has its texts."""

    character_set: str
    collate: str


def found_database(machine: Reader, session: MysqlSession, name: str) -> MysqlCharset | None:
    """The character set and collation of a database; None: there is none."""
    query = (
        "SELECT SCHEMA_NAME AS name, DEFAULT_CHARACTER_SET_NAME AS cs, DEFAULT_COLLATION_NAME AS co,"
        f" @@lower_case_table_names AS folded FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {literal(name)}"
    )
    for row in session.rows(machine, query):
        same = str(row["name"]) == name if row["folded"] == "0" else str(row["name"]).lower() == name.lower()
        if same:
            return MysqlCharset(str(row["cs"]), str(row["co"]))
    return None


def require_database(machine: Reader, session: MysqlSession, name: str) -> None:
    """StateFailed, or ContentUnknown, where there is no such database."""
    if found_database(machine, session, name) is None:
        raise session.lacking(f"Database {name} is not present")


def resolved(
    machine: Reader, session: MysqlSession, found: MysqlCharset, character_set: str | None, collate: str | None
) -> MysqlCharset:
    """What the server makes of a character set and a collation: `utf8` is another name, and each set has a collation.

    Args:
        machine: where the program runs.
        session: the server.
        found: what the database has, which stays where it is not given.
        character_set: what is wanted.
        collate: what is wanted.
    """
    if all(
        wanted in (None, "", has) for wanted, has in ((character_set, found.character_set), (collate, found.collate))
    ):
        return found
    own = (collate or "").partition("_")[0]
    chosen = character_set or (found.character_set if own in ("", "uca1400") else own)
    text = f"CONVERT('' USING {word(chosen, 'character set')})"
    collated = f"{text} COLLATE {word(collate, 'collation')}" if collate else text
    row = session.rows(machine, f"SELECT CHARSET({text}) AS cs, COLLATION({collated}) AS co")[0]
    known = MysqlCharset(str(row["cs"]), str(row["co"]))
    # The collation of the set is not asked for: one that the database has, of this set, stays.
    return found if not collate and known.character_set == found.character_set else known


def creation(name: str, character_set: str | None, collate: str | None) -> str:
    """The statement that makes a database."""
    return f"CREATE DATABASE {identifier(name)}{_texts(character_set, collate)}"


def alteration(name: str, wanted: MysqlCharset) -> str:
    """The statement that changes how new tables have their texts."""
    return f"ALTER DATABASE {identifier(name)}{_texts(*wanted)}"


def removal(name: str) -> str:
    """The statement that takes a database away. StateFailed for one of the server's own."""
    if name.lower() in OF_THE_SERVER:
        raise StateFailed(f"Database {name} is the server's own: it is not removed")
    return f"DROP DATABASE {identifier(name)}"


def _texts(character_set: str | None, collate: str | None) -> str:
    return (f" CHARACTER SET {word(character_set, 'character set')}" if character_set else "") + (
        f" COLLATE {word(collate, 'collation')}" if collate else ""
    )
