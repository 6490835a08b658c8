"""The connection under the store: opening, migrating, transactions, and library errors made readable.

Used by the modules of `controller.store` alone. One connection, one thread at a time: calls are short, and made
from the controller's loop. Transactions nest: an inner one joins the outer.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, SQLAlchemyError

from controller.store import schema
from controller.store.errors import StoreError, StoreTooNew, StoreUnavailable

BUSY_TIMEOUT = 10_000
"""Milliseconds to wait for another process that writes."""


class Database:
    """An open database at the newest schema.

    Args:
        url: SQLAlchemy's form: `sqlite:////var/lib/saltern/controller.sqlite`.
    """

    def __init__(self, url: str) -> None:
        self._url = _parsed(url)
        self.name = self._url.database or self._url.render_as_string()
        self._lock = threading.RLock()
        self._depth = 0
        if self._url.get_backend_name() == "sqlite":
            _private_file(self._url.database)
        self._engine = _engine(self._url)
        with self._readable():
            try:
                self._connection = self._engine.connect()
            except BaseException:
                self._engine.dispose()
                raise
        try:
            self._bring_to_head()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close it; a transaction that is open is rolled back."""
        with self._lock, contextlib.suppress(SQLAlchemyError):
            self._connection.close()
        self._engine.dispose()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """All that is done inside is there afterwards, or nothing is. StoreUnavailable when it cannot be kept."""
        with self._lock, self._readable():
            if self._depth:
                yield self._connection
                return
            self._depth = 1
            try:
                with self._connection.begin():
                    yield self._connection
            finally:
                self._depth = 0

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise StoreUnavailable(_explained(self.name, error)) from error

    def _bring_to_head(self) -> None:
        with self.transaction() as connection:
            tables = set(inspect(connection).get_table_names())
            if schema.version.name not in tables:
                if tables:
                    raise StoreError(f"{self.name} holds tables of another program; give Saltern a database of its own")
                _create(connection)
                return
            found = connection.scalar(select(schema.version.c.version_num))
        if found != schema.HEAD:
            self._migrate(str(found))

    def _migrate(self, found: str) -> None:
        # Only here, because Alembic takes 11 MiB that a controller at the newest schema need not have.
        from controller.store import migrate

        if found not in migrate.known_versions():
            raise StoreTooNew(
                f"{self.name} has schema {found}, which this version (schema {schema.HEAD}) does not know; "
                "run the newer Saltern, or restore the database from before its upgrade"
            )
        with self.transaction() as connection:
            migrate.upgrade(connection)


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except ArgumentError as error:
        raise StoreError(f"store_url {url!r} is no database url; write sqlite:////absolute/path") from error


def _private_file(path: str | None) -> None:
    """Create the file so that it is never readable by others; SQLite gives its -wal and -shm files the same mode."""
    if not path or path == ":memory:":
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be opened: {error.strerror}; it must be a file of this user") from error


def _engine(url: URL) -> Engine:
    try:
        if url.get_backend_name() != "sqlite":
            return create_engine(url, pool_pre_ping=True)
        engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT / 1000})
    except (ArgumentError, ImportError) as error:
        raise StoreError(f"store_url {url.render_as_string()!r} cannot be used: {error}") from error
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own; `_begin_immediate` does
    cursor = connection.cursor()
    try:
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")  # a result that was acknowledged survives a power cut
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA journal_size_limit = 16777216")
    finally:
        cursor.close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _create(connection: Connection) -> None:
    schema.metadata.create_all(connection)
    schema.version.create(connection)
    connection.execute(schema.version.insert().values(version_num=schema.HEAD))


def _explained(name: str, error: SQLAlchemyError) -> str:
    cause = str(error.orig) if isinstance(error, DatabaseError) and error.orig is not None else str(error)
    lowered = cause.lower()
    match lowered:
        case _ if "full" in lowered or "disk i/o" in lowered or "too large" in lowered:
            hint = "free space on its file system (or raise the quota); nothing was changed"
        case _ if "locked" in lowered:
            hint = "another process has been writing for long; is a second controller running on it?"
        case _ if "malformed" in lowered or "not a database" in lowered:
            hint = "the file is damaged: restore it from a backup, or move it away to start a new one"
        case _ if "readonly" in lowered or "unable to open" in lowered:
            hint = "the file and its folder must be writable by the controller's user"
        case _:
            hint = ""
    return f"{name}: {cause}" + (f"; {hint}" if hint else "")
