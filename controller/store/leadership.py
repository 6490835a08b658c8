"""Which of several controllers leads, where they share a PostgreSQL database: one has the lease, others wait for it.

Asked by the controller's root before it opens the store. A lease, and no advisory lock: the server keeps the lock of a
process that is frozen, as its system answers for it. Each lease has an epoch, and each transaction of the store checks
that its controller's epoch is the newest (`controller.store.database`). So a controller that was frozen and wakes after
another took over can write nothing more, and what it does follows what it has written.

All times are those of the database: the clocks of controllers may differ.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

import structlog
from sqlalchemy import Column, Connection, Float, MetaData, Table, insert, literal_column, select, text, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateTable

from controller.store.column_types import INTEGER, TEXT
from controller.store.database import engine_of, explained
from controller.store.errors import StoreUnavailable

log = structlog.get_logger("saltern.leadership")

LEASE_SECONDS = 3.0
"""Without a renewal, until another may take over."""

RENEW_SECONDS = 0.75
"""Between two renewals."""

leadership = Table(
    "leadership",
    MetaData(),
    Column("id", INTEGER, primary_key=True, autoincrement=False),
    Column("epoch", INTEGER, nullable=False),
    Column("holder", TEXT, nullable=False),
    Column("renewed", Float, nullable=False),
)
"""One row. It is no part of the schema that migrations follow: it is there before the store is opened."""

_NOW = literal_column("extract(epoch FROM clock_timestamp())", Float)


class Lease:
    """The lease of one database, as one controller sees it.

    Args:
        url: of the database.
        on_lost: is called once, in a thread of the lease, when another has taken over.
    """

    def __init__(self, url: str, on_lost: Callable[[], object]) -> None:
        self._engine = engine_of(url)
        self._on_lost = on_lost
        self._holder = f"{socket.gethostname()} (process {os.getpid()})"
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._made = False
        self.epoch = 0
        """Of this controller's lease; 0 while it has none."""
        self.lost = False

    def try_to_lead(self) -> str:
        """Take the lease if it is free; who leads.

        Raises:
            StoreUnavailable: the database cannot be asked.
        """
        try:
            with self._engine.begin() as connection:
                self._make(connection)
                free = (leadership.c.holder == "") | (leadership.c.renewed < _NOW - LEASE_SECONDS)
                taken = update(leadership).where(free).returning(leadership.c.epoch)
                found = connection.scalar(taken.values(holder=self._holder, epoch=leadership.c.epoch + 1, renewed=_NOW))
                holder = str(connection.scalar(select(leadership.c.holder)) or "")
        except SQLAlchemyError as error:
            raise StoreUnavailable(explained(str(self._engine.url.database), error)) from error
        if found is not None:
            self.epoch = int(found)
            self._thread = threading.Thread(target=self._renew, name="leadership", daemon=True)
            self._thread.start()
        return holder

    @property
    def leads(self) -> bool:
        """Whether this controller has the lease, as far as it knows."""
        return self.epoch > 0 and not self.lost

    def close(self) -> None:
        """Give the lease back, so that the next need not wait until it is over."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._give_back()
        self._engine.dispose()

    def _make(self, connection: Connection) -> None:
        if self._made:
            return
        # Two that start at once may both make it: the lock is over with the transaction.
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('saltern leadership'))"))
        connection.execute(CreateTable(leadership, if_not_exists=True))
        if connection.scalar(select(leadership.c.id)) is None:
            connection.execute(insert(leadership).values(id=1, epoch=0, holder="", renewed=0.0))
        self._made = True

    def _renew(self) -> None:
        """Renew it until the end. While the database cannot be asked nobody else can take over either."""
        while not self._ending.wait(RENEW_SECONDS):
            try:
                with self._engine.begin() as connection:
                    mine = update(leadership).where(leadership.c.epoch == self.epoch)
                    kept = connection.execute(mine.values(renewed=_NOW)).rowcount
                    holder = connection.scalar(select(leadership.c.holder))
            except SQLAlchemyError as error:
                log.warning("lease not renewed", error=str(error).splitlines()[0])
                continue
            if not kept:
                self.lost = True
                log.critical("another controller leads now: this one ends", leader=holder, epoch=self.epoch)
                self._on_lost()
                return

    def _give_back(self) -> None:
        try:
            with self._engine.begin() as connection:
                mine = update(leadership).where(leadership.c.epoch == self.epoch)
                connection.execute(mine.values(holder="", renewed=0.0))
        except SQLAlchemyError as error:
            log.warning("lease not given back: the next controller waits until it is over", error=str(error))


def is_shared(url: str) -> bool:
    """Whether several controllers can use the database at a URL: one in PostgreSQL."""
    return url.partition(":")[0].partition("+")[0] in ("postgresql", "postgres")
