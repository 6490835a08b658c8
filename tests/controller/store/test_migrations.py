"""A database of each version that there was, with rows in all of its tables, is brought to the newest one."""

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from effort import steps

from controller.store import Store, migrate, schema

VERSIONS = sorted(migrate.known_versions())


def some_value(column):
    """A value that its type takes, the same in all tables, as some name rows of others."""
    match column.type:
        case sa.Boolean():
            return False
        case sa.LargeBinary():
            return b""
        case sa.Integer() | sa.Float() | sa.Numeric():
            return 1
        case _:
            return "1"


def fill(connection):
    """One row in each table; how many there are by name."""
    tables = sa.MetaData()
    tables.reflect(connection)
    filled = set()
    for table in tables.sorted_tables:
        if table.name == "alembic_version":
            continue
        if connection.scalar(sa.select(sa.func.count()).select_from(table)):
            filled.add(table.name)  # a migration has put something there
            continue
        row = {
            each.name: some_value(each)
            for each in table.columns
            if not (each.nullable or each.server_default is not None)
        }
        connection.execute(table.insert().values(row))
        filled.add(table.name)
    return filled


@pytest.mark.parametrize("version", steps(VERSIONS, 6))
def test_rows_of_each_version_are_kept(store_url, version):
    engine = sa.create_engine(store_url)
    with engine.begin() as connection:
        migrate.upgrade(connection, version)
        filled = fill(connection)
    assert {"runs", "revisions"} <= filled
    with Store(store_url) as store:
        store.minions.status()
        store.runs.get("1")
        store.revisions.newest()
        store.call_runs.find(["1"])
        store.conditions.all()
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
        there = sa.MetaData()
        there.reflect(connection)
        counts = {
            table.name: connection.scalar(sa.select(sa.func.count()).select_from(table))
            for table in there.sorted_tables
        }
    engine.dispose()
    assert {name for name in filled if not counts.get(name)} == set()
