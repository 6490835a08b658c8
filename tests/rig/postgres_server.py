"""A real PostgreSQL server in a folder of its own, that can be stopped, killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
"""Debian's; None: there is no server on this machine."""

USER = "salt"


class PostgresServer:
    """The server, listening on a socket in its folder, which is not below pytest's: no other user may enter that."""

    def __init__(self) -> None:
        if PROGRAMS is None:
            raise FileNotFoundError("there is no PostgreSQL in /usr/lib/postgresql")
        self.folder = Path(tempfile.mkdtemp(prefix="saltern-pg-"))
        self._user: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            import pwd

            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        words = [PROGRAMS / "initdb", "-D", self.folder / "data", "-U", USER, "-A", "trust", "-N", "-E", "UTF8"]
        subprocess.run([*words, "--locale=C.UTF-8"], check=True, **self._quiet, **self._user)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        assert PROGRAMS is not None
        words = [PROGRAMS / "postgres", "-D", self.folder / "data", "-k", self.folder]
        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=60"]
        self._process = subprocess.Popen([*words, *settings], **self._quiet, **self._user)
        end = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < end, "PostgreSQL does not answer"
            time.sleep(0.02)

    def stop(self, *, kill: bool = False) -> None:
        """End it: orderly, though at once, or with its machine (SIGQUIT leaves its files as a crash does)."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT if kill else signal.SIGINT)
        self._process.wait(60)

    def close(self) -> None:
        """End it and remove its folder."""
        self.stop(kill=True)
        shutil.rmtree(self.folder)

    def run(self, statement: str, database: str = "postgres") -> list[Any]:
        """Carry a statement out; its rows."""
        import psycopg

        with psycopg.connect(host=str(self.folder), user=USER, dbname=database, autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[arg-type]  # texts of the tests
            return cursor.fetchall() if cursor.description else []

    def new_database(self, name: str) -> str:
        """A new database; its URL."""
        self.run(f'CREATE DATABASE "{name}"')
        return f"postgresql://{USER}@/{name}?host={self.folder}"

    def _answers(self) -> bool:
        import psycopg

        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True
