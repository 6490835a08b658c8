"""An InfluxDB server of versions 0.9 to 1.x, asked and told in InfluxQL by its HTTP API.

Called by the states and the execution functions. The client library for Python is not developed any more, and is not
needed for one request; statements go in the body, so that no password is in an address.
API: https://docs.influxdata.com/influxdb/v1/tools/api/
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from minion.arguments.types import Ignored, Map, Unsupported, Value
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.stores.rest import RestRefused, RestServer, checked_url

_BRINGING = re.compile(r"archive|cmd|docker_container|file|influxdb_\w+|module|pkg|pkgrepo|service")
"""State modules that may bring what a question lacks: the server, a database, a user."""
_NOT_ALLOWED = 401
_PART = re.compile(r"(\d+)(ns|ms|[uµsmhdw])")
_UNITS = {
    "ns": 1, "u": 10**3, "µ": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
    "d": 86400 * 10**9, "w": 7 * 86400 * 10**9,
}  # fmt: skip
_POINTS = Ignored("it is for points by UDP, which nothing here writes")
_ONE_REQUEST = Ignored("a function sends one request at a time, and does not repeat it")


class InfluxdbLogin(NamedTuple):
    """Arguments of all functions: where the server is. What is false is taken from the options `influxdb.*`."""

    influxdb_user: str | None = None
    influxdb_password: str | None = None
    influxdb_host: str | None = None
    influxdb_port: int | None = None
    ssl: bool = False
    verify_ssl: bool = True
    timeout: float | None = None
    path: str = ""
    proxies: Map = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    use_udp: Annotated[Value, _POINTS] = None
    udp_port: Annotated[Value, _POINTS] = None
    retries: Annotated[Value, _ONE_REQUEST] = None
    pool_size: Annotated[Value, _ONE_REQUEST] = None
    gzip: Annotated[Value, Ignored("statements are short")] = None
    cert: Annotated[Value, Unsupported("use influxdb_user and influxdb_password")] = None
    headers: Annotated[Value, Unsupported("use influxdb_user and influxdb_password")] = None


class Influxdb:
    """A server, with somebody's credentials."""

    def __init__(self, server: RestServer) -> None:
        self._server = server

    def results(self, query: str, database: str = "") -> list[list[Mapping[str, Any]]]:
        """The series that each statement gives.

        Raises:
            StateFailed: with the server's words, or because it does not answer.
            ContentUnknown: it does not answer, and a run under test=True may start it.
        """
        asked = {"q": query, **({"db": database} if database else {})}
        body, content = urlencode(asked).encode(), "application/x-www-form-urlencoded"
        answer = self._server.ask("POST", "/query", body, content=content)
        found = answer.get("results") or []
        for one in found:
            if one.get("error"):
                raise StateFailed(f"InfluxDB: {one['error']}")
        return [one.get("series") or [] for one in found]

    def rows(self, query: str, database: str = "") -> list[dict[str, Any]]:
        """What one statement gives, of all its series. Raises as `results`."""
        return [row for series in self.results(query, database)[0] for row in rows_of(series)]

    def databases(self) -> list[str]:
        """Their names."""
        return [str(row["name"]) for row in self.rows("SHOW DATABASES")]

    def user(self, name: str) -> dict[str, Any] | None:
        """`user` and `admin`; None where there is none."""
        return next((row for row in self.rows("SHOW USERS") if row["user"] == name), None)

    def privileges(self, user: str) -> dict[str, str]:
        """Database → `read`, `write`, `all`, or `no`."""
        rows = self.rows(f"SHOW GRANTS FOR {identifier(user)}")
        return {row["database"]: row["privilege"].split()[0].lower() for row in rows}

    def refuses(self, user: str, password: str) -> bool:
        """Whether the server knows this user by another password; it does not say where it lets in anybody."""
        try:
            Influxdb(replace(self._server, user=user, password=password)).results("SHOW DATABASES")
        except RestRefused as error:
            if error.status != _NOT_ALLOWED:
                raise
            return True
        return False

    def retention_policies(self, database: str) -> dict[str, dict[str, Any]] | None:
        """Name → policy; None where there is no such database."""
        try:
            rows = self.rows(f"SHOW RETENTION POLICIES ON {identifier(database)}")
        except StateFailed as error:
            if str(error) != f"InfluxDB: {_no_database(database)}":
                raise
            return None
        return {row["name"]: row for row in rows}

    def continuous_queries(self, database: str) -> dict[str, dict[str, Any]] | None:
        """Name → `name` and `query`; None where there is no such database."""
        for series in self.results("SHOW CONTINUOUS QUERIES")[0]:
            if series["name"] == database:
                return {row["name"]: row for row in rows_of(series)}
        return None

    def lacks_database(self, name: str) -> Exception:
        """What to raise where there is none: StateFailed; ContentUnknown, where a run under test=True may bring it."""
        return self._server.lacking(_no_database(name))


def influxdb_at(machine: Reader, login: InfluxdbLogin, to_come: Collection[tuple[str, str]] = ()) -> Influxdb:
    """The server that arguments and the configuration's `influxdb.*` ask for; the defaults are Salt's."""
    host = login.influxdb_host or configured(machine, "influxdb.host", "localhost")
    port = login.influxdb_port or configured(machine, "influxdb.port", 8086)
    url = checked_url("InfluxDB", f"{host}:{port}", port=int(port), tls=login.ssl)
    machine.look_elsewhere(url)
    server = RestServer(
        what="InfluxDB",
        urls=[f"{url}/{login.path.strip('/')}"],
        user=str(login.influxdb_user or configured(machine, "influxdb.user", "root")),
        password=str(login.influxdb_password or configured(machine, "influxdb.password", "root")),
        timeout=login.timeout or 10.0,
        verify=login.verify_ssl,
        proxies={str(scheme): str(proxy) for scheme, proxy in login.proxies.items()},
        to_come=to_come,
        bringing=_BRINGING,
    )
    return Influxdb(server)


def rows_of(series: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Column → value, of each row."""
    return [dict(zip(series["columns"], values, strict=True)) for values in series.get("values") or ()]


def identifier(name: str) -> str:
    """A name, as it stands in a statement."""
    return '"' + _escaped(name).replace('"', '\\"') + '"'


def text(value: str) -> str:
    """A text, as it stands in a statement."""
    return "'" + _escaped(value).replace("'", "\\'") + "'"


def creation(user: str, password: str, admin: bool) -> str:
    """The statement that makes a user."""
    rights = " WITH ALL PRIVILEGES" if admin else ""
    return f"CREATE USER {identifier(user)} WITH PASSWORD {text(password)}{rights}"


def privilege_of(word: str) -> str:
    """A privilege as it stands in a statement. StateFailed where there is none of the name."""
    kind = word.lower()
    if kind not in ("all", "read", "write"):
        raise StateFailed(f"A privilege is read, write or all, not {word}")
    return kind.upper()


def policy_statement(
    verb: str, database: str, name: str, duration: str, replication: int, *, default: bool
) -> str:  # fmt: skip
    """The statement that makes (`CREATE`) or changes (`ALTER`) a retention policy."""
    nanoseconds(duration)
    place = f"{identifier(name)} ON {identifier(database)}"
    statement = f"{verb} RETENTION POLICY {place} DURATION {duration} REPLICATION {replication}"
    return f"{statement} DEFAULT" if default else statement


def query_statement(
    database: str, name: str, query: str, resample_time: str | None, coverage_period: str | None
) -> str:  # fmt: skip
    """The statement that makes a continuous query."""
    for duration in filter(None, (resample_time, coverage_period)):
        nanoseconds(duration)
    every = f" EVERY {resample_time}" if resample_time else ""
    period = f" FOR {coverage_period}" if coverage_period else ""
    resample = f" RESAMPLE{every}{period}" if every or period else ""
    return f"CREATE CONTINUOUS QUERY {identifier(name)} ON {identifier(database)}{resample} BEGIN {query} END"


def nanoseconds(duration: str) -> int:
    """Of a duration as InfluxQL has it, `7d` or `168h0m0s`; 0 of `INF`: for ever. StateFailed where it is none."""
    if duration.upper() == "INF" or duration == "0":
        return 0
    if not _PART.sub("", duration) and duration:
        return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(duration))
    raise StateFailed(f"Invalid duration: {duration}")


def _no_database(name: str) -> str:
    return f"database not found: {name}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def grouped(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Name of the series → its rows, or → its tags in JSON → its rows, as Salt has the answer of a query."""
    found: dict[str, Any] = {}
    for one in series:
        if one.get("tags"):
            found.setdefault(one["name"], {})[json.dumps(one["tags"])] = rows_of(one)
        else:
            found[one.get("name") or "results"] = rows_of(one)
    return dict(sorted(found.items()))
