"""The connections under the store: opening, migrating, transactions, and library errors made readable.

Used by the modules of `controller.store` alone. One connection writes, and one reads beside it: SQLite in WAL mode lets
a reader go on while anybody writes. Each serves one thread at a time; calls are short, and made from the controller's
loop. A thread that has written in its transaction reads on the writing connection, so that it sees what it wrote.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import (
    Connection,
    Engine,
    NestedTransaction,
    RootTransaction,
    create_engine,
    event,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError, SQLAlchemyError

from controller.store import schema
from controller.store.errors import LeadershipLost, QuestionGivenUp, StoreError, StoreTooNew, StoreUnavailable

_LEADS = text("SELECT epoch FROM leadership WHERE epoch = :of FOR SHARE")
"""The row is locked until the transaction is over: nobody takes over in the middle of it."""

OF_LEADERSHIP = frozenset(("leadership", "waiting_controllers"))
"""Tables that are there before a store is made (`controller.store.leadership`)."""

FORMS = "sqlite:////absolute/path or postgresql://user@host/database"
"""Of the urls."""

CONNECT_SECONDS = 10
"""To wait for PostgreSQL to take a connection."""

IDLE_SECONDS = 2
"""After which PostgreSQL ends a transaction in which nothing happens: its controller is frozen, and is in the way."""

STATEMENT_SECONDS = 30
"""After which PostgreSQL gives a statement up, or one waits for a lock no longer."""

BUSY_TIMEOUT = 10_000
"""Milliseconds to wait for another process that writes."""

ASIDE_SECONDS = 5.0
"""After which a question of somebody who looks through the store is given up."""

_LOOKED_EVERY = 10_000
"""Steps of SQLite's machine between two looks at the clock."""


TakeTime: TypeAlias = Callable[[str, float], None]
"""Takes what was done (`read`, `write`, `commit`) and the seconds that it took."""


def untimed(_operation: str, _seconds: float) -> None:
    """Where nobody asks how long the store takes."""


@dataclass(slots=True)
class _OpenTransaction:
    owner: int
    """Thread."""
    root: RootTransaction | None = None
    """None until something is written."""
    savepoints: list[NestedTransaction | None] = field(default_factory=list)
    """Outermost first; None until something is written after it."""
    failure: StoreUnavailable | None = None
    """Of a write. The database may have rolled back everything by then, so that nothing of it may be committed."""

    def begin(self, connection: Connection, fence: int) -> None:
        if self.root is None:
            self.root = connection.begin()
            if fence and connection.scalar(_LEADS, {"of": fence}) is None:
                raise LeadershipLost("another controller leads now: this one writes nothing more")
        self.savepoints = [each or connection.begin_nested() for each in self.savepoints]

    def commit(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self.root is not None:
            self.root.commit()


class Database:
    """An open database at the newest schema.

    Args:
        url: SQLAlchemy's form: `sqlite:////var/lib/saltern/controller.sqlite`.
        fence: the epoch of the lease with which this controller leads (`controller.store.leadership`), which each
            transaction checks; 0: nobody else has the database.
        timed: is told how long each read, write and commit took, in the thread that waited for it.
    """

    def __init__(self, url: str, fence: int = 0, timed: TakeTime = untimed) -> None:
        self._fence = fence
        self._timed = timed
        self._url = _parsed(url)
        self.name = self._url.database or self._url.render_as_string()
        self._writing = threading.RLock()
        self._reading = threading.RLock()
        self._open: _OpenTransaction | None = None
        """Of the thread that has the lock of writing."""
        if self._url.get_backend_name() == "sqlite":
            _private_file(self._url.database)
        self._engine = _engine(self._url)
        with self._readable():
            try:
                self._writer = self._engine.connect()
                self._reader = self._engine.connect().execution_options(saltern_reads=True)
            except BaseException:
                self._engine.dispose()
                raise
        try:
            self._bring_to_head()
        except BaseException:
            self.close()
            raise

    @property
    def is_postgresql(self) -> bool:
        """Whether it is one; else it is SQLite."""
        return self._url.get_backend_name() == "postgresql"

    def close(self) -> None:
        """Close it; a transaction that is open is rolled back."""
        with self._writing, self._reading, contextlib.suppress(SQLAlchemyError):
            self._writer.close()
            self._reader.close()
        self._engine.dispose()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that this thread writes inside is there afterwards, or nothing is; an inner one joins the outer.

        The first write takes the write lock. StoreUnavailable when it cannot be kept.
        """
        with self._writing:
            if self._open is not None:
                yield
                return
            self._open = opened = _OpenTransaction(owner=threading.get_ident())
            try:
                yield
                began = time.perf_counter()
                with self._readable():
                    opened.commit()
                if opened.root is not None:
                    self._timed("commit", time.perf_counter() - began)
            finally:
                self._open = None
                if opened.root is not None:
                    opened.root.close()

    @contextlib.contextmanager
    def savepoint(self) -> Iterator[None]:
        """An exception out of it takes back what was written inside, and leaves the transaction around it as it was."""
        with self.transaction():
            opened = self._opened()
            opened.savepoints.append(None)
            try:
                yield
            except BaseException:
                mark = opened.savepoints.pop()
                if mark is not None and opened.failure is None:
                    mark.rollback()
                raise
            mark = opened.savepoints.pop()
            if mark is not None and opened.failure is None:
                mark.commit()

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """The writing connection, in a transaction: that of the caller, else one of its own."""
        with self.transaction():
            opened, began = self._opened(), time.perf_counter()
            try:
                with self._readable():
                    opened.begin(self._writer, self._fence)
                    yield self._writer
                self._timed("write", time.perf_counter() - began)
            except StoreUnavailable as error:
                opened.failure = error
                raise

    def _opened(self) -> _OpenTransaction:
        assert self._open is not None  # noqa: S101 - `transaction` has just made it
        return self._open

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection to read from, which waits for nobody who writes."""
        opened = self._open
        if opened is not None and opened.root is not None and opened.owner == threading.get_ident():
            with self._readable():
                yield self._writer
            return
        with self._reading, self._readable():
            if self._reader.in_transaction():  # of a read around this one
                yield self._reader
                return
            began = time.perf_counter()
            with self._reader.begin():
                yield self._reader
            self._timed("read", time.perf_counter() - began)

    @contextlib.contextmanager
    def read_aside(self) -> Iterator[Connection]:
        """A connection of its own for what somebody looks through: nothing else waits for it. It is for threads.

        What the thread itself has written and not committed is not seen. QuestionGivenUp after `ASIDE_SECONDS`.
        """
        ends = time.monotonic() + ASIDE_SECONDS
        with self._readable(), self._engine.connect() as opened:
            connection = opened.execution_options(saltern_reads=True)
            driver: Any = connection.connection.driver_connection
            of_sqlite = connection.dialect.name == "sqlite"
            try:
                with connection.begin():
                    if of_sqlite:
                        driver.set_progress_handler(lambda: time.monotonic() > ends, _LOOKED_EVERY)
                    else:
                        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {round(ASIDE_SECONDS * 1000)}")
                    began = time.perf_counter()
                    yield connection
                    self._timed("read", time.perf_counter() - began)
            except OperationalError as error:
                if time.monotonic() > ends:
                    raise QuestionGivenUp(f"a question took over {ASIDE_SECONDS:g} s, and was given up") from error
                raise
            finally:
                if of_sqlite:
                    driver.set_progress_handler(None, 0)

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise StoreUnavailable(explained(self.name, error)) from error

    def _bring_to_head(self) -> None:
        with self.write() as connection:
            tables = set(inspect(connection).get_table_names()) - OF_LEADERSHIP
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
                f"{self.name} has schema {found}, which this version (schema {schema.HEAD}) does not know; run the "
                "Saltern that made it, or restore the database from before its upgrade, or move the file away to start "
                "a new one (all keys must then be accepted again)"
            )
        with self.write() as connection:
            migrate.upgrade(connection)


def engine_of(url: str) -> Engine:
    """Connections to a database, beside those of its store; StoreError for a URL that cannot be used."""
    return _engine(_parsed(url))


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError(f"store_url {url!r} is no database url; write {FORMS}") from error
    if parsed.get_backend_name() in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite":
        raise StoreError(f"store_url names a database of the kind {parsed.get_backend_name()}; write {FORMS}")
    return parsed


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
            return create_engine(url, connect_args=_OF_POSTGRESQL)
        engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT / 1000})
    except ImportError as error:
        hint = "pip install 'saltern[postgres]'"
        raise StoreError(f"store_url {url.render_as_string()!r} cannot be used: {error}; {hint}") from error
    except ArgumentError as error:
        raise StoreError(f"store_url {url.render_as_string()!r} cannot be used: {error}") from error
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin)
    return engine


_OF_POSTGRESQL = {
    "connect_timeout": CONNECT_SECONDS,
    "application_name": "saltern",
    "client_encoding": "utf8",  # of a database in SQL_ASCII the server would say bytes, where texts are wanted
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "options": f"-c statement_timeout={STATEMENT_SECONDS * 1000} -c lock_timeout={STATEMENT_SECONDS * 1000} "
    f"-c idle_in_transaction_session_timeout={IDLE_SECONDS * 1000}",
}
"""A server that is gone without a word is noticed; what was acknowledged is on its disk, by PostgreSQL's default
(`synchronous_commit`)."""


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own; `_begin` does
    cursor = connection.cursor()
    try:
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")  # a result that was acknowledged survives a power cut
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA journal_size_limit = 16777216")
    finally:
        cursor.close()


def _begin(connection: Connection) -> None:
    """A writer takes its lock at once, as a lock that is asked for in the middle fails without waiting."""
    reads = connection.get_execution_options().get("saltern_reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _create(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        schema.add_conditions_of_postgresql()
    schema.metadata.create_all(connection)
    schema.version.create(connection)
    connection.execute(schema.version.insert().values(version_num=schema.HEAD))


def explained(name: str, error: SQLAlchemyError) -> str:
    """What is wrong with a database, and what to do."""
    cause = str(error.orig) if isinstance(error, DatabaseError) and error.orig is not None else str(error)
    lowered = cause.lower()
    match lowered:
        case _ if "full" in lowered or "disk i/o" in lowered or "too large" in lowered:
            hint = "free space on its file system (or raise the quota); nothing was changed"
        case _ if "locked" in lowered:
            hint = "another process has been writing for long; is a second controller running on it?"
        case _ if "malformed" in lowered or "not a database" in lowered:
            hint = "the file is damaged: restore it from a backup, or move it away to start a new one"
        case _ if "connection" in lowered or "server" in lowered:
            hint = "is PostgreSQL running, and does it let this user in? It is asked again"
        case _ if "readonly" in lowered or "unable to open" in lowered:
            hint = "the file and its folder must be writable by the controller's user"
        case _:
            hint = ""
    return f"{name}: {cause}" + (f"; {hint}" if hint else "")
