"""A PostgreSQL server as it is asked and told by psql.

Statements go to psql by its standard input and a password by the environment, so that neither is in a list of
processes. A question runs in a session that may only read. Called by the states and the execution functions.
Behaviour: the defaults of doc/ref/modules/all/salt.modules.postgres.
"""

from __future__ import annotations

import csv
import io
import os
import pwd
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from minion.arguments.types import ToCome
from minion.machine.configured import configured
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.postgres.sql import literal

SYSTEM_USER = "postgres"
"""Who owns the server on this machine, and may be its superuser without a password."""
_CONNECT_SECONDS = "10"
_BRINGING = re.compile(r"archive|cmd|file|module|pkg|pkgrepo|postgres_\w+|service|user")
"""State modules that may bring what a question lacks: psql, the server, a database, a role."""
_NO_FAULT = ("LINE ", "could not change directory to ")
"""Lines of psql that tell the statement, or that it does not stand in a folder of its own."""
_FAULT = re.compile(r"(?:ERROR|FATAL|PANIC|DETAIL|HINT): +.*")


SessionAccess = Literal["read only", "read write", "default"]
_ACCESS: Mapping[SessionAccess, str] = {
    "read only": "SET default_transaction_read_only = on;\n",
    "read write": "SET default_transaction_read_only = off;\n",
    "default": "",
}


class PostgresLogin(NamedTuple):
    """How states reach a server: arguments that all of them have."""

    user: str | None = None
    """Of the system, whom psql runs as."""
    db_user: str | None = None
    db_password: str | None = None
    db_host: str | None = None
    db_port: int | None = None
    to_come: ToCome = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSession:
    """A database that psql can be connected to."""

    database: str
    program: str | None
    """Path of psql; None: it is not there."""
    system_user: str
    """Whom psql runs as; empty: who runs the minion."""
    is_local: bool
    """Whether the server is on this machine, as far as its address tells."""
    environment: Mapping[str, str] = field(repr=False)
    seconds: float | None = None
    """Of a statement."""
    to_come: Collection[tuple[str, str]] = ()

    def at(self, database: str) -> PostgresSession:
        """The same server, another database."""
        return replace(self, database=database)

    def rows(self, machine: Reader, query: str, *, access: SessionAccess = "read only") -> list[dict[str, str]]:
        """What a query gives; null is an empty text.

        Args:
            machine: where psql runs.
            query: one statement that COPY takes, without a semicolon.
            access: whether it may change something; `default`: as the server has it.

        Raises:
            StateFailed: with the server's words.
            ContentUnknown: under test=True, where an earlier state may bring what is lacking.
        """
        copied = literal(f"COPY ({query}\n) TO STDOUT WITH CSV HEADER")
        # By \gexec the text goes to the server as it is: psql looks for no commands of its own in it.
        done = self._asked(machine, f"{self._beginning()}{_ACCESS[access]}SELECT {copied} \\gexec\n")
        if done.returncode != 0:
            raise self.lacking(fault(done))
        return list(csv.DictReader(io.StringIO(done.stdout, newline="")))

    def carry_out(self, machine: Machine, statements: Sequence[str], failed: str) -> None:
        """Carry statements out, one after the other.

        Raises:
            StateFailed: `failed`, and the server's words.
        """
        script = "".join(f"{one};\n" for one in statements)
        done = machine.run(
            [self._program(), *_OPTIONS],
            env=self._variables(),
            runas=self._other_user(),
            stdin=self._beginning() + script,
        )
        if done.returncode != 0:
            raise StateFailed(f"{failed}: {fault(done)}")

    def together(self, machine: Machine, statements: Sequence[str], failed: str) -> None:
        """The same in one transaction."""
        self.carry_out(machine, statements if len(statements) == 1 else ["BEGIN", *statements, "COMMIT"], failed)

    def has_database(self, machine: Reader) -> bool:
        """Whether there is the database; StateFailed when the server does not say."""
        query = f"SELECT 1 AS one FROM pg_catalog.pg_database WHERE datname = {literal(self.database)}"
        return bool(self.at("postgres").rows(machine, query))

    def lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self.to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)

    def _asked(self, machine: Reader, script: str) -> Completed:
        argv = [self._program(), *_OPTIONS]
        variables = self._variables()
        if user := self._other_user():
            argv = ["runuser", "-u", user, "--", *argv]
            variables |= {"HOME": pwd.getpwnam(user).pw_dir, "USER": user, "LOGNAME": user}
        return machine.query(argv, env=variables, stdin=script)

    def _program(self) -> str:
        if self.program is None:
            raise self.lacking(
                "psql is not there: install PostgreSQL's client, or name its folder by postgres.bins_dir"
            )
        return self.program

    def _other_user(self) -> str | None:
        """Whom psql has to be run as, where that is not who runs the minion."""
        if not self.system_user:
            return None
        try:
            found = pwd.getpwnam(self.system_user)
        except KeyError:
            raise self.lacking(f"User '{self.system_user}' is not available") from None
        return None if found.pw_uid == os.geteuid() else self.system_user

    def _variables(self) -> dict[str, str]:
        return {**self.environment, "PGDATABASE": self.database}

    def _beginning(self) -> str:
        limit = f"SET statement_timeout = {int(self.seconds * 1000)};\n" if self.seconds else ""
        return f"SET datestyle = 'ISO, MDY';\n{limit}"


_OPTIONS = ("-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1")


def session_of(machine: Reader, login: PostgresLogin, database: str | None = None) -> PostgresSession:
    """The session that arguments and the configuration's `postgres.*` ask for.

    Args:
        machine: whose configuration, grains and pillar are looked up.
        login: the arguments.
        database: what to connect to; None: `postgres.maintenance_db`, without it `postgres`.
    """

    def chosen(given: Any, option: str) -> str:
        return str(given or configured(machine, f"postgres.{option}", None) or "")

    host = chosen(login.db_host, "host")
    is_local = not host or host.startswith("/")
    said = {
        "PGHOST": host,
        "PGPORT": chosen(login.db_port, "port"),
        "PGUSER": chosen(login.db_user, "user"),
        "PGPASSWORD": chosen(login.db_password, "pass"),
    }
    return PostgresSession(
        database=chosen(database, "maintenance_db") or "postgres",
        program=program(machine, "psql"),
        system_user=login.user or (SYSTEM_USER if is_local else ""),
        is_local=is_local,
        environment={
            "PGCLIENTENCODING": "UTF8",
            "PGCONNECT_TIMEOUT": _CONNECT_SECONDS,
            **{key: value for key, value in said.items() if value},
        },
        seconds=_seconds(configured(machine, "postgres.timeout", None)),
        to_come=login.to_come,
    )


def program(machine: Reader, name: str) -> str | None:
    """Path of a program of PostgreSQL: on the path, in `postgres.bins_dir`, or where Debian has those of a server."""
    folders = [str(folder) for folder in [configured(machine, "postgres.bins_dir", None)] if folder]
    if found := shutil.which(name) or next(filter(None, (shutil.which(name, path=one) for one in folders)), None):
        return found
    top = "/usr/lib/postgresql"
    versions = machine.listdir(top) if machine.stat(top) is not None else ()
    newest = sorted((one for one in versions if one.isdigit()), key=int, reverse=True)
    return next(filter(None, (shutil.which(name, path=f"{top}/{one}/bin") for one in newest)), None)


def fault(done: Completed) -> str:
    """What a program of PostgreSQL says of its failure, without the statement, which may hold a password."""
    said = _FAULT.findall(done.stderr)
    if said:
        return " ".join(" ".join(one.split()) for one in said)
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return " ".join(line for line in lines if not line.startswith(_NO_FAULT)) or f"exit code {done.returncode}"


def _seconds(value: Any) -> float | None:
    try:
        return float(value) if value else None
    except (TypeError, ValueError):
        raise StateFailed(f"postgres.timeout must be a number of seconds, not {value!r}") from None
