"""A MongoDB server, reached by the official library for Python, which is imported where a state or function needs it.

Called by the states `mongodb_…` and the execution module `mongodb`. Behaviour: salt.modules.mongodb of saltext-mongodb.
Commands: https://www.mongodb.com/docs/manual/reference/command/
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from minion.machine.configured import configured
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Reader

if TYPE_CHECKING:
    from pymongo import MongoClient

_BRINGING = re.compile(r"archive|cmd|docker_container|file|module|mongodb_user|pip|pkg|pkgrepo|service")
"""State modules that may bring what a question lacks: the library, the server, the user who asks."""
_TIMEOUT = 5000
"""Milliseconds."""
_WRONG_LOGIN = 18
_MISSING = (
    "the MongoDB client for Python is not installed: install saltern[mongodb], or the Python package pymongo"
)  # fmt: skip


class MongodbLogin(NamedTuple):
    """Arguments of all functions: where the server is, and who asks; what is false is taken from `mongodb.*`.

    `authdb`: the database that has the user who asks (`admin`).
    """

    user: str | None = None
    password: str | None = None
    host: str | None = None
    port: int | None = None
    authdb: str | None = None


class RoleOfUser(NamedTuple):
    """A role, of a database."""

    role: str
    db: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mongodb:
    """A server, with somebody's credentials."""

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    authdb: str = "admin"
    to_come: Collection[tuple[str, str]] = ()

    @contextmanager
    def connected(self) -> Iterator[MongoClient[dict[str, Any]]]:
        """The library's client.

        Raises:
            StateFailed: the library is missing, or with the server's words, or because it does not answer.
            ContentUnknown: a run under test=True may bring what is missing.
        """
        try:
            import pymongo  # a fifth of a second, and 15 MiB
            import pymongo.errors
        except ImportError:
            raise self._lacking(_MISSING) from None
        login: dict[str, Any] = {}
        if self.user and self.password:
            login = {"username": self.user, "password": self.password, "authSource": self.authdb}
        try:
            with pymongo.MongoClient(
                self.host, self.port, serverSelectionTimeoutMS=_TIMEOUT, connectTimeoutMS=_TIMEOUT, **login
            ) as client:
                yield client
        except pymongo.errors.OperationFailure as error:
            said = str((error.details or {}).get("errmsg") or error)
            raise MongodbRefused(said, error.code or 0) from None
        except pymongo.errors.ConnectionFailure as error:
            why = re.split(r" \(configured |, Timeout: ", str(error))[0]
            raise self._lacking(f"MongoDB does not answer: {why}") from None
        except (pymongo.errors.PyMongoError, ValueError, TypeError) as error:
            raise StateFailed(f"MongoDB: {error}") from None

    def command(self, database: str, name: str, value: Any = 1, **more: Any) -> Mapping[str, Any]:
        """The answer to a command. Raises as `connected`."""
        with self.connected() as client:
            found: Mapping[str, Any] = client[database].command(name, value, **more)
            return found

    def databases(self) -> list[str]:
        """Their names."""
        with self.connected() as client:
            return client.list_database_names()

    def drop_database(self, name: str) -> None:
        """Delete a database."""
        with self.connected() as client:
            client.drop_database(name)

    def users(self, database: str, name: str | None = None) -> list[Mapping[str, Any]]:
        """The users of a database, or the one of this name, as the server tells them."""
        return list(self.command(database, "usersInfo", 1 if name is None else name)["users"])

    def refuses(self, name: str, password: str, database: str) -> bool:
        """Whether the server knows this user by another password."""
        try:
            replace(self, user=name, password=password, authdb=database).command("admin", "ping")
        except MongodbRefused as error:
            if error.code != _WRONG_LOGIN:
                raise
            return True
        return False

    def _lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self.to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)


class MongodbRefused(StateFailed):
    """The server answers with an error."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(f"MongoDB: {message}")
        self.code = code


def mongodb_at(
    machine: Reader, login: MongodbLogin, to_come: Collection[tuple[str, str]] = (), database: str = "admin"
) -> Mongodb:
    """The server that arguments and the configuration's `mongodb.*` ask for; `database`: that has the user who asks."""
    host = str(login.host or configured(machine, "mongodb.host", "") or "localhost")
    port = int(login.port or configured(machine, "mongodb.port", 0) or 27017)
    machine.look_elsewhere(f"mongodb://{host.rpartition('@')[2]}:{port}")
    return Mongodb(
        host=host,
        port=port,
        user=str(login.user or configured(machine, "mongodb.user", "") or ""),
        password=str(login.password or configured(machine, "mongodb.password", "") or ""),
        authdb=login.authdb or database,
        to_come=to_come,
    )


def roles_of(given: Sequence[Any], database: str) -> list[RoleOfUser]:
    """Roles of their names, which are those of the database, or of mappings with `role` and `db`. StateFailed."""
    found = []
    for one in given:
        if isinstance(one, Mapping) and "role" in one:
            found.append(RoleOfUser(str(one["role"]), str(one.get("db", database))))
        elif isinstance(one, str):
            found.append(RoleOfUser(one, database))
        else:
            raise StateFailed("Roles provided in wrong format: a role is a name, or a mapping with role and db")
    return found


def as_documents(roles: Sequence[RoleOfUser]) -> list[dict[str, str]]:
    """Roles, as commands take them."""
    return [one._asdict() for one in roles]
