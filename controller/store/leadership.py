"""Which of several controllers leads, where they share a PostgreSQL database: one has the lease, others wait for it.

Asked by the controller's root before it opens the store. A lease, and no advisory lock: the server keeps the lock of a
process that is frozen, as its system answers for it. Each lease has an epoch, and each transaction of the store checks
that its controller's epoch is the newest (`controller.store.database`). So a controller that was frozen and wakes after
another took over can write nothing more, and what it does follows what it has written.

All times are those of the database: the clocks of controllers may differ.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable

import msgspec
import structlog
from sqlalchemy import (
    Column,
    Connection,
    Float,
    MetaData,
    Table,
    delete,
    insert,
    inspect,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql.dml import Update

from controller.store.column_types import INTEGER, TEXT
from controller.store.database import engine_of, explained
from controller.store.errors import StoreUnavailable

log = structlog.get_logger("saltern.leadership")

LEASE_SECONDS = 3.0
"""Without a renewal, until another may take over."""

RENEW_SECONDS = 0.75
"""Between two renewals."""

GIVE_UP_SECONDS = 15.0
"""Without a renewal, until a leader ends that knows of others: they may have the database, and lead. A restart of the
database takes less."""

WAITING_SECONDS = 10.0
"""For which a controller that waits counts as there after it has looked."""

_tables = MetaData()

leadership = Table(
    "leadership",
    _tables,
    Column("id", INTEGER, primary_key=True, autoincrement=False),
    Column("epoch", INTEGER, nullable=False),
    Column("holder", TEXT, nullable=False),
    Column("renewed", Float, nullable=False),
    Column("address", TEXT, nullable=False, server_default=""),
)
"""One row. It is no part of the schema that migrations follow: it is there before the store is opened. `address` is a
`LeaderAddress` as JSON."""

waiting_controllers = Table(
    "waiting_controllers",
    _tables,
    Column("id", TEXT, primary_key=True),
    Column("holder", TEXT, nullable=False),
    Column("address", TEXT, nullable=False),
    Column("seen", Float, nullable=False),
)
"""Controllers that wait, like `leadership` apart from the schema."""

_NOW = literal_column("extract(epoch FROM clock_timestamp())", Float)
_ADD_ADDRESS = text("ALTER TABLE leadership ADD COLUMN IF NOT EXISTS address TEXT NOT NULL DEFAULT ''")
"""To a table that a version made which told none."""
_WAIT = text(
    "INSERT INTO waiting_controllers (id, holder, address, seen)"
    " VALUES (:id, :holder, :address, extract(epoch FROM clock_timestamp()))"
    " ON CONFLICT (id) DO UPDATE SET address = excluded.address, seen = excluded.seen"
)


class LeaderAddress(msgspec.Struct, frozen=True, kw_only=True):
    """Where the controller that leads serves."""

    epoch: int
    """Of its lease: what an earlier one has told counts no more."""
    host: str
    publish_port: int
    request_port: int
    pool_port: int
    """Of other controllers."""
    key: str
    """Fingerprint of its public key."""


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """Who leads."""

    holder: str
    """Empty: nobody."""
    address: LeaderAddress | None = None
    """None until it serves."""


class WaitingController(msgspec.Struct, frozen=True, kw_only=True):
    """A controller that waits."""

    holder: str
    address: str
    """From which it reaches the leader; empty: it does not."""


class Lease:
    """The lease of one database, as one controller sees it.

    Args:
        url: of the database.
        on_lost: is called once, in a thread of the lease, when another has taken over, or may have.
    """

    def __init__(self, url: str, on_lost: Callable[[], object]) -> None:
        self._engine = engine_of(url)
        self._on_lost = on_lost
        self._id = uuid.uuid4().hex
        self._holder = f"{socket.gethostname()} (process {os.getpid()})"
        self._address = ""
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._made = False
        self.epoch = 0
        """Of this controller's lease; 0 while it has none."""
        self.lost = False
        self.waiting: tuple[WaitingController, ...] = ()
        """Other controllers, as the leader read them last."""

    def try_to_lead(self, source: str = "") -> Leader:
        """Take the lease if it is free; who leads.

        Args:
            source: address from which this controller reaches the leader.

        Raises:
            StoreUnavailable: the database cannot be asked.
        """
        try:
            with self._engine.begin() as connection:
                self._make(connection)
                free = (leadership.c.holder == "") | (leadership.c.renewed < _NOW - LEASE_SECONDS)
                taken = update(leadership).where(free).returning(leadership.c.epoch)
                found = connection.scalar(taken.values(holder=self._holder, epoch=leadership.c.epoch + 1, renewed=_NOW))
                if found is None:
                    connection.execute(_WAIT, {"id": self._id, "holder": self._holder, "address": source})
                else:
                    self._wait_no_more(connection)
                leader = _leader_of(connection)
        except SQLAlchemyError as error:
            raise StoreUnavailable(explained(str(self._engine.url.database), error)) from error
        if found is not None:
            self.epoch = int(found)
            self._thread = threading.Thread(target=self._renew, name="leadership", daemon=True)
            self._thread.start()
        return leader

    def advertise(self, address: LeaderAddress) -> None:
        """Tell the controllers that wait where this one serves: now, and with each renewal."""
        self._address = msgspec.json.encode(address).decode()
        with contextlib.suppress(SQLAlchemyError), self._engine.begin() as connection:
            connection.execute(self._mine().values(address=self._address))

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
        elif self._made:
            with contextlib.suppress(SQLAlchemyError), self._engine.begin() as connection:
                self._wait_no_more(connection)
        self._engine.dispose()

    def _mine(self) -> Update:
        return update(leadership).where(leadership.c.epoch == self.epoch)

    def _wait_no_more(self, connection: Connection) -> None:
        connection.execute(delete(waiting_controllers).where(waiting_controllers.c.id == self._id))

    def _make(self, connection: Connection) -> None:
        if self._made:
            return
        # Two that start at once may both make it: the lock is over with the transaction.
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('saltern leadership'))"))
        connection.execute(CreateTable(leadership, if_not_exists=True))
        if all(column["name"] != "address" for column in inspect(connection).get_columns("leadership")):
            connection.execute(_ADD_ADDRESS)  # waits for who writes, so only where it is needed
        connection.execute(CreateTable(waiting_controllers, if_not_exists=True))
        if connection.scalar(select(leadership.c.id)) is None:
            connection.execute(insert(leadership).values(id=1, epoch=0, holder="", renewed=0.0))
        self._made = True

    def _renew(self) -> None:
        """Renew it until the end, or until others may lead while the database cannot be asked."""
        renewed = time.monotonic()
        while not self._ending.wait(RENEW_SECONDS):
            try:
                with self._engine.begin() as connection:
                    kept = connection.execute(self._mine().values(renewed=_NOW, address=self._address)).rowcount
                    self.waiting = _waiting(connection)
                    holder = connection.scalar(select(leadership.c.holder))
            except SQLAlchemyError as error:
                log.warning("lease not renewed", error=str(error).splitlines()[0])
                if self.waiting and time.monotonic() - renewed > GIVE_UP_SECONDS:
                    self._lose("database not reached, and others may lead by now: this one ends", "")
                    return
                continue
            if not kept:
                self._lose("another controller leads now: this one ends", str(holder or ""))
                return
            renewed = time.monotonic()

    def _lose(self, why: str, leader: str) -> None:
        self.lost = True
        log.critical(why, leader=leader, epoch=self.epoch)
        self._on_lost()

    def _give_back(self) -> None:
        try:
            with self._engine.begin() as connection:
                connection.execute(self._mine().values(holder="", renewed=0.0, address=""))
        except SQLAlchemyError as error:
            log.warning("lease not given back: the next controller waits until it is over", error=str(error))


def _leader_of(connection: Connection) -> Leader:
    row = connection.execute(select(leadership.c.holder, leadership.c.epoch, leadership.c.address)).one()
    try:
        address = msgspec.json.decode(row.address, type=LeaderAddress) if row.address else None
    except msgspec.MsgspecError:  # of another version
        address = None
    return Leader(holder=row.holder, address=address if address and address.epoch == row.epoch else None)


def _waiting(connection: Connection) -> tuple[WaitingController, ...]:
    """Those that have looked lately; the others are forgotten."""
    found = waiting_controllers
    connection.execute(delete(found).where(found.c.seen < _NOW - WAITING_SECONDS))
    rows = connection.execute(select(found.c.holder, found.c.address).order_by(found.c.holder, found.c.id))
    return tuple(WaitingController(holder=row.holder, address=row.address) for row in rows)


def is_shared(url: str) -> bool:
    """Whether several controllers can use the database at a URL: one in PostgreSQL."""
    return url.partition(":")[0].partition("+")[0] in ("postgresql", "postgres")
