"""Stores in SQLite and in PostgreSQL: each test of a table runs on both."""

import itertools

import pytest
from postgres_server import PROGRAMS, PostgresServer

from controller.store import Store

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres():
    """A server that runs."""
    pytest.importorskip("psycopg")
    if PROGRAMS is None:
        pytest.skip("there is no PostgreSQL in /usr/lib/postgresql")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, tmp_path):
    """The URL of a new database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.sqlite"
    return request.getfixturevalue("postgres").new_database(f"store{next(_NUMBERS)}")


@pytest.fixture
def store(store_url):
    """A new store."""
    with Store(store_url) as opened:
        yield opened
