"""A store as one SQLite file, whatever database it is in, and back: consistent while a controller writes to it.

Such a file moves a store from SQLite to PostgreSQL, too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, func, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from controller.store import Store, schema
from controller.store.database import OF_LEADERSHIP, engine_of, explained
from controller.store.errors import StoreError, StoreUnavailable
from controller.store.exclusive_use import exclusive_use
from controller.store.leadership import Lease, is_shared

_ROWS = 500
"""That are copied at a time."""


def copy_store(url: str, to: Path) -> None:
    """Write the store at a URL into a new SQLite file, as it is at one moment.

    Raises:
        StoreError: there is none, or it cannot be read.
    """
    os.close(os.open(to, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    if is_shared(url):
        _copy_rows_out(url, to)
        return
    file = _file_of(url)
    if not file.exists():
        raise StoreUnavailable(f"{file}: there is no store yet")
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(to)) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{file}: {error}") from error


def check_copy(file: Path) -> str:
    """The schema of a copy; it is whole, and this version knows it.

    Raises:
        StoreError: it is damaged, no copy of a store, or of a newer version.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as copy:
            (said,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            (version,) = copy.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.Error, TypeError) as error:
        raise StoreUnavailable(f"{file}: no copy of a store: {error}") from error
    if said != "ok":
        raise StoreUnavailable(f"{file} is damaged: {said}")
    return str(version)


@contextlib.contextmanager
def unused(url: str) -> Iterator[None]:
    """While no controller uses the store at a URL, and none can begin to. StoreInUse when one does."""
    if not is_shared(url):
        with exclusive_use(url):
            yield
        return
    lease = Lease(url, lambda: None)
    try:
        leader = lease.try_to_lead()
        if not lease.leads:
            raise StoreError(f"the controller {leader.holder} uses the database: stop all that share it")
        yield
    finally:
        lease.close()


def holds_something(url: str) -> bool:
    """Whether there is a store at a URL already."""
    if not is_shared(url):
        return _file_of(url).exists()
    engine = engine_of(url)
    try:
        return bool(set(inspect(engine).get_table_names()) - OF_LEADERSHIP)
    except SQLAlchemyError as error:
        raise StoreUnavailable(explained(str(engine.url.database), error)) from error
    finally:
        engine.dispose()


def load_store(file: Path, url: str) -> None:
    """Make the store at a URL from a copy, which is brought to the newest schema on the way; there must be none.

    `file` is changed: it is a copy of the caller's own.
    """
    with Store(f"sqlite:///{file.resolve()}"):
        pass  # it is at the newest schema now
    if is_shared(url):
        with Store(url):
            pass
        _copy_rows_in(file, url)
        return
    target = _file_of(url)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.with_name(f"{target.name}.part")
    shutil.copyfile(file, part)
    part.chmod(0o600)
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.rename(target)


def _copy_rows_out(url: str, to: Path) -> None:
    with Store(f"sqlite:///{to.resolve()}"):
        pass
    source = engine_of(url).execution_options(isolation_level="REPEATABLE READ")
    target = engine_of(f"sqlite:///{to.resolve()}")
    try:
        with source.connect() as reading, target.begin() as writing:
            version = reading.scalar(select(schema.version.c.version_num))
            if version != schema.HEAD:
                raise StoreError(f"the database has schema {version}: start a controller of this version on it first")
            _copy_rows(reading, writing)
    except SQLAlchemyError as error:
        raise StoreUnavailable(explained(str(source.url.database), error)) from error
    finally:
        source.dispose()
        target.dispose()


def _copy_rows_in(file: Path, url: str) -> None:
    source, target = engine_of(f"sqlite:///{file.resolve()}"), engine_of(url)
    try:
        with source.connect() as reading, target.begin() as writing:
            _copy_rows(reading, writing)
            _go_on_counting(writing)
    except SQLAlchemyError as error:
        raise StoreUnavailable(explained(str(target.url.database), error)) from error
    finally:
        source.dispose()
        target.dispose()


def _copy_rows(reading: Connection, writing: Connection) -> None:
    for table in schema.metadata.sorted_tables:
        rows = reading.execution_options(yield_per=_ROWS).execute(select(table))
        for part in rows.mappings().partitions(_ROWS):
            writing.execute(table.insert(), [dict(row) for row in part])


def _go_on_counting(writing: Connection) -> None:
    """Have PostgreSQL give out the numbers after those that were copied."""
    for table in schema.metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None:
            continue
        highest = writing.scalar(select(func.max(column)))
        if highest is not None:
            named = {"table": table.name, "column": column.name, "highest": highest}
            writing.execute(text("SELECT setval(pg_get_serial_sequence(:table, :column), :highest)"), named)


def _file_of(url: str) -> Path:
    return Path(str(make_url(url).database))
