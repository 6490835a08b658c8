"""States of databases, on servers of their own."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mariadb_server import MariadbServer, is_there
from postgres_server import USER, PostgresServer
from rig import free_ports

from tools.bench.noops.pairs import NoOp

_SECRET = {"password": "sesame"}


@contextlib.contextmanager
def postgres() -> Iterator[Iterator[NoOp]]:
    """PostgreSQL."""
    server = PostgresServer()
    try:
        yield _postgres(server)
    finally:
        server.close()


def _postgres(server: PostgresServer) -> Iterator[NoOp]:
    reached = {"user": "nobody", "db_user": USER, "db_host": str(server.folder)}
    server.run("CREATE TABLE t (i int)")

    def one(fun: str, name: str, **arguments: Any) -> NoOp:
        return NoOp(fun=f"postgres_{fun}", name=name, arguments={**reached, **arguments})

    yield one("user.present", "joe", **_SECRET, createdb=True, encrypted="scram-sha-256")
    yield one("user.absent", "none")
    yield one("group.present", "team", createdb=True)
    yield one("group.absent", "none")
    yield one("database.present", "shop", owner="joe", encoding="UTF8", template="template0")
    yield one("database.absent", "none")
    yield one("schema.present", "shelf", dbname="shop", owner="joe")
    yield one("schema.absent", "none", dbname="shop")
    yield one("extension.present", "plpgsql")
    yield one("extension.absent", "none")
    yield one("language.present", "plpgsql", maintenance_db="postgres")
    yield one("language.absent", "none", maintenance_db="postgres")
    granted = {"object_name": "t", "object_type": "table", "privileges": ["SELECT"]}
    yield one("privileges.present", "joe", **granted)
    yield one("privileges.absent", "team", **granted)
    yield one("tablespace.absent", "none")


@contextlib.contextmanager
def mysql() -> Iterator[Iterator[NoOp]]:
    """MariaDB."""
    if not is_there():
        pytest.skip("there is no MariaDB server")
    server = MariadbServer()
    try:
        yield _mysql({"connection_unix_socket": server.socket, "connection_user": "root"})
    finally:
        server.close()


def _mysql(login: dict[str, Any]) -> Iterator[NoOp]:
    def one(fun: str, name: str, **arguments: Any) -> NoOp:
        return NoOp(fun=f"mysql_{fun}", name=name, arguments={**login, **arguments})

    yield one("database.present", "shop", character_set="utf8mb4")
    yield one("database.absent", "none")
    yield one("user.present", "joe", **_SECRET)
    yield one("user.absent", "none")
    yield one("grants.present", "g", grant="SELECT,INSERT", database="shop.*", user="joe")
    yield one("grants.absent", "h", grant="DELETE", database="shop.*", user="joe")


@contextlib.contextmanager
def redis() -> Iterator[Iterator[NoOp]]:
    """Redis."""
    library = pytest.importorskip("redis")
    [port] = free_ports(1)
    place = {"host": "127.0.0.1", "port": port}

    def ask(method: str, *words: Any) -> Any:
        client = library.Redis(**place, decode_responses=True, socket_timeout=10)
        try:
            return getattr(client, method)(*words)
        finally:
            client.close()

    options = ["--port", str(port), "--save", "", "--bind", "127.0.0.1", "--dir", tempfile.gettempdir()]
    with _server(["redis-server", *options], lambda: ask("ping")):
        yield iter([
            NoOp(fun="redis.string", name="k", arguments={**place, "value": "v"}, bare=lambda: ask("get", "k"),
                 bare_of="the library's get"),
            NoOp(fun="redis.absent", name="none", arguments=place, bare=lambda: ask("exists", "none"),
                 bare_of="the library's exists"),
        ])  # fmt: skip


@contextlib.contextmanager
def memcached() -> Iterator[Iterator[NoOp]]:
    """Memcached."""
    library = pytest.importorskip("pymemcache.client.base")
    [port] = free_ports(1)
    place = {"host": "127.0.0.1", "port": port}

    def ask(method: str, *words: Any) -> Any:
        with contextlib.closing(library.Client(("127.0.0.1", port))) as client:
            return getattr(client, method)(*words)

    with _server(["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "nobody"], lambda: ask("version")):
        yield iter([
            NoOp(fun="memcached.managed", name="k", arguments={**place, "value": "v"}, bare=lambda: ask("get", "k"),
                 bare_of="the library's get"),
            NoOp(fun="memcached.absent", name="none", arguments=place, bare=lambda: ask("get", "none"),
                 bare_of="the library's get"),
        ])  # fmt: skip


@contextlib.contextmanager
def sqlite() -> Iterator[Iterator[NoOp]]:
    """SQLite."""
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        path = str(Path(folder) / "f.sqlite")

        def ask(statement: str) -> object:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
                return connection.execute(statement).fetchall()

        tables, rows = "SELECT sql FROM sqlite_master WHERE name = 't'", "SELECT * FROM t WHERE n = 1"
        at = {"db": path, "table": "t", "where_sql": "n = 1"}
        yield iter([
            NoOp(fun="sqlite3.table_present", name="t", arguments={"db": path, "schema": ["n INT"]},
                 bare=lambda: ask(tables), bare_of="one SELECT"),
            NoOp(fun="sqlite3.row_present", arguments={**at, "data": {"n": 1}}, bare=lambda: ask(rows),
                 bare_of="one SELECT"),
            NoOp(fun="sqlite3.row_absent", arguments={**at, "where_sql": "n = 2"}, bare=lambda: ask(rows),
                 bare_of="one SELECT"),
            NoOp(fun="sqlite3.table_absent", name="none", arguments={"db": path}, bare=lambda: ask(tables),
                 bare_of="one SELECT"),
        ])  # fmt: skip


@contextlib.contextmanager
def _server(words: list[str], answers: Callable[[], object]) -> Iterator[None]:
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 60
    try:
        while True:
            try:
                answers()
                break
            except OSError as error:  # the errors of the libraries that nobody listens are of this kind, or below
                _wait(end, error)
            except Exception as error:  # Redis has its own
                _wait(end, error)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait(end: float, error: Exception) -> None:
    if time.monotonic() > end:
        raise RuntimeError("it does not answer") from error
    time.sleep(0.05)


FAMILIES: dict[str, Callable[[], contextlib.AbstractContextManager[Iterator[NoOp]]]] = {
    "postgres": postgres,
    "mysql": mysql,
    "redis": redis,
    "memcached": memcached,
    "sqlite": sqlite,
}
