"""A real PostgreSQL server for each file of tests, and states against it."""

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from postgres_server import PROGRAMS, USER, PostgresServer

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.providers.postgres.session import PostgresLogin, PostgresSession, session_of


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """The server."""
    if PROGRAMS is None:
        pytest.skip("there is no PostgreSQL in /usr/lib/postgresql")
    pytest.importorskip("psycopg")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def reached(server: PostgresServer) -> dict[str, Any]:
    """The arguments by which states reach it."""
    owner = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    return {"user": owner, "db_user": USER, "db_host": str(server.folder)}


@pytest.fixture(scope="module")
def plain() -> LocalMachine:
    """This machine."""
    return LocalMachine(sources_port=MemoryFiles({}))


@pytest.fixture(scope="module")
def session(plain: LocalMachine, reached: dict[str, Any]) -> PostgresSession:
    """It, as the library knows it."""
    return session_of(plain, PostgresLogin(**reached))


@pytest.fixture
def dumped(server: PostgresServer) -> Callable[[], str]:
    """All that the server holds, as text."""
    assert PROGRAMS is not None
    command = [str(PROGRAMS / "pg_dumpall"), "-h", str(server.folder), "-U", USER]

    def dump() -> str:
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return "\n".join(line for line in text.splitlines() if not line.startswith(("\\restrict", "\\unrestrict")))

    return dump


class Postgres:
    """The states, each with the arguments by which it reaches the server."""

    def __init__(self, converge: Callable[..., StateResult], machine: LocalMachine, reached: dict[str, Any]) -> None:
        self._converge = converge
        self._machine = machine
        self._reached = reached

    def __call__(self, fun: str, name: str, **arguments: Any) -> StateResult:
        """Planned under test, done, and planned again."""
        return self._converge(f"postgres_{fun}", name, **{**self._reached, **arguments})

    def once(self, fun: str, name: str, *, test: bool = False, **arguments: Any) -> StateResult:
        """Run once."""
        module, _, bare = f"postgres_{fun}".partition(".")
        chunk = Chunk(state=module, fun=bare, id="x", name=name, sls="s", arguments={**self._reached, **arguments})
        return run({"k": chunk}, StateEngine(self._machine, test=test), test=test, clock=lambda: 0.0)["k"]


@pytest.fixture
def pg(converge: Callable[..., StateResult], plain: LocalMachine, reached: dict[str, Any]) -> Postgres:
    """pg("user.present", name, **arguments)."""
    return Postgres(converge, plain, reached)
