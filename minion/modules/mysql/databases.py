"""Functions of `mysql` about databases and their tables, and queries."""

from __future__ import annotations

from typing import Any

from minion.arguments.types import ListOfTexts
from minion.execution.context import Context
from minion.providers.mysql import databases, queries
from minion.providers.mysql.session import MysqlLogin, MysqlSession, flags_of, result_sets, session_of
from minion.providers.mysql.sql import identifier, pattern, quoted_name


def quote_identifier(context: Context, identifier: str, for_grants: bool = False) -> str:
    """A name, quoted; with `for_grants` as a pattern that stands for itself."""
    return pattern(identifier) if for_grants else quoted_name(identifier)


def query(
    context: Context, database: str, query: str, client_flags: ListOfTexts = (), *, login: MysqlLogin
) -> dict[str, Any]:
    """What came of a query: rows and columns of one that asks, else how many rows it changed."""
    session = session_of(context.machine, login).at(database, flags_of(client_flags))
    return queries.answer_of(context.machine, session, query)


def file_query(
    context: Context, database: str, file_name: str, client_flags: ListOfTexts = (), saltenv: str = "base", *,
    login: MysqlLogin,
) -> dict[str, Any]:  # fmt: skip
    """What came of the queries of a file: of the machine, of `salt://` or of the web."""
    session = session_of(context.machine, login).at(database, flags_of(client_flags))
    text = queries.file_of_statements(context.machine, file_name, saltenv)
    return queries.answer_of_file(context.machine, session, text)


def db_list(context: Context, login: MysqlLogin) -> list[str]:
    """Names of the databases."""
    rows = session_of(context.machine, login).rows(context.machine, "SHOW DATABASES")
    return [str(row["Database"]) for row in rows]


def db_get(context: Context, name: str, login: MysqlLogin) -> dict[str, str]:
    """How a database has its texts: `character_set` and `collate`; empty where there is none."""
    found = databases.found_database(context.machine, session_of(context.machine, login), name)
    return {} if found is None else found._asdict()


def db_exists(context: Context, name: str, login: MysqlLogin) -> bool:
    """Whether there is a database."""
    return databases.found_database(context.machine, session_of(context.machine, login), name) is not None


def db_tables(context: Context, name: str, login: MysqlLogin) -> list[str] | bool:
    """Names of the tables of a database; false where there is none."""
    return _tables(context, session_of(context.machine, login), name) if db_exists(context, name, login) else False


def db_create(
    context: Context, name: str, character_set: str | None = None, collate: str | None = None, *, login: MysqlLogin
) -> bool:
    """Make a database; false where it is there."""
    if db_exists(context, name, login):
        return False
    statement = databases.creation(name, character_set, collate)
    session_of(context.machine, login).carry_out(context.machine, [statement], f"Failed to create database {name}")
    return True


def alter_db(
    context: Context, name: str, character_set: str | None = None, collate: str | None = None, *, login: MysqlLogin
) -> bool:
    """Say how new tables of a database have their texts; false where there is none."""
    machine, session = context.machine, session_of(context.machine, login)
    found = databases.found_database(machine, session, name)
    if found is None:
        return False
    wanted = databases.resolved(machine, session, found, character_set, collate)
    session.carry_out(machine, [databases.alteration(name, wanted)], f"Failed to alter database {name}")
    return True


def db_remove(context: Context, name: str, login: MysqlLogin) -> bool:
    """Take a database away; false where there is none."""
    if not db_exists(context, name, login):
        return False
    statement = databases.removal(name)
    session_of(context.machine, login).carry_out(context.machine, [statement], f"Failed to remove database {name}")
    return True


def db_check(context: Context, name: str, table: str | None = None, *, login: MysqlLogin) -> list[Any]:
    """What the server finds in a table, or in each of a database."""
    return _of_tables(context, "CHECK", name, table, login)


def db_repair(context: Context, name: str, table: str | None = None, *, login: MysqlLogin) -> list[Any]:
    """Repair a table, or each of a database; what the server says."""
    return _of_tables(context, "REPAIR", name, table, login)


def db_optimize(context: Context, name: str, table: str | None = None, *, login: MysqlLogin) -> list[Any]:
    """Give back what a table, or each of a database, does not need; what the server says."""
    return _of_tables(context, "OPTIMIZE", name, table, login)


def _tables(context: Context, session: MysqlSession, name: str) -> list[str]:
    rows = session.rows(context.machine, f"SHOW TABLES IN {identifier(name)}")
    return [str(next(iter(row.values()))) for row in rows]


def _of_tables(context: Context, verb: str, name: str, table: str | None, login: MysqlLogin) -> list[Any]:
    session = session_of(context.machine, login)

    def answer(one: str) -> list[Any]:
        said = session.run(context.machine, f"{verb} TABLE {identifier(name)}.{identifier(one)};\n")
        return [dict(row) for rows in result_sets(said) for row in rows]

    return answer(table) if table is not None else [answer(one) for one in _tables(context, session, name)]
