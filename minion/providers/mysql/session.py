"""A MySQL or MariaDB server as it is asked and told by its own client program.

The program is there wherever a server is, so that no library has to be installed for the minion; it ends after each
question, so that the agent stays as small as it is. Statements go to it by its standard input and a password by the
environment, so that neither is in a list of processes. A question runs in a session that may only read. Called by the
states and the execution functions. Behaviour: the connection arguments of doc/ref/modules/all/salt.modules.mysql.
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import Ignored, Map, Value
from minion.machine.configured import configured
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Completed, Machine, Reader

_PROGRAMS = ("mariadb", "mysql")
_BRINGING = re.compile(r"archive|cmd|file|module|pkg|pkgrepo|mysql_\w+|service|user")
"""State modules that may bring what a question lacks: the program, the server, a database, a user."""
_FAULT = re.compile(r"^ERROR (\d+)(?: \(\w+\))?(?: at line \d+)?: (.*)\Z", re.MULTILINE | re.DOTALL)
_NEAR = re.compile(r" to use near '.*\Z", re.DOTALL)
_FIELD = re.compile(r'\t<field name="([^"]*)"(?: xsi:nil="true" />|>([^<]*)</field>)')
_ROW = re.compile(r"  <row>\n(.*?)\n  </row>", re.DOTALL)
_SET = re.compile(r'<resultset statement="[^"]*"[^>]*>(.*?)</resultset>', re.DOTALL)
_TLS = {
    "ca": "--ssl-ca", "capath": "--ssl-capath", "cert": "--ssl-cert", "cipher": "--ssl-cipher", "key": "--ssl-key",
}  # fmt: skip
_FLAGS = {"local_files": "--local-infile=1", "compress": "--compress", "ssl": "--ssl"}
_GRANTED = ("multi_statements", "multi_results", "found_rows", "interactive", "ignore_space", "secure_connection")
"""Flags of a client library that change nothing in what a statement does here."""

ResultRow = Mapping[str, str | None]
"""Column -> value; null is None."""

_CONVERSIONS = Ignored("values are texts, as the server shows them")
_CHARSET = Ignored("texts go to the server and come back as UTF-8, whatever the tables hold")


class MysqlLogin(NamedTuple):
    """How states and functions reach a server: arguments that all have; what is none is of the options `mysql.*`."""

    connection_host: str | None = None
    connection_user: str | None = None
    connection_pass: str | None = None
    connection_port: int | None = None
    connection_db: str | None = None
    connection_unix_socket: str | None = None
    connection_default_file: str | None = None
    connection_default_group: str | None = None
    connection_ssl: Map = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    connection_charset: Annotated[Value, _CHARSET] = None
    connection_conv: Annotated[Value, _CONVERSIONS] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MysqlSession:
    """A server that the program can be connected to."""

    program: str | None
    """None: it is not there."""
    options: Sequence[str]
    password: str = field(repr=False)
    database: str = ""
    to_come: Collection[tuple[str, str]] = ()

    def at(self, database: str, flags: Sequence[str] = ()) -> MysqlSession:
        """The same server, with a database chosen and options of the connection added."""
        return replace(self, database=database, options=(*self.options, *flags))

    def rows(self, machine: Reader, query: str) -> list[ResultRow]:
        """What one question gives."""
        return self.sets(machine, [query])[0]

    def sets(self, machine: Reader, queries: Sequence[str]) -> list[list[ResultRow]]:
        """What each of several questions gives, asked at once in a session that may only read.

        Raises:
            StateFailed: with the server's words.
            ContentUnknown: under test=True, where an earlier state may bring what is lacking.
        """
        done = machine.query(self._command(), env=self._environment(), stdin=_script(_READING, queries))
        if done.returncode != 0:
            raise self.lacking(fault(done))
        return result_sets(done.stdout)

    def carry_out(self, machine: Machine, statements: Sequence[str], failed: str) -> None:
        """Carry statements out, one after the other. StateFailed: `failed`, and the server's words."""
        done = machine.run(self._command(), env=self._environment(), stdin=_script(_WRITING, statements))
        if done.returncode != 0:
            raise StateFailed(f"{failed} ({fault(done)})" if failed else fault(done))

    def run(self, machine: Machine, script: str) -> str:
        """What a script of somebody else's prints, with the server's own modes. StateFailed: the server's words."""
        done = machine.run(self._command(), env=self._environment(), stdin=script)
        if done.returncode != 0:
            raise StateFailed(fault(done))
        return done.stdout

    def refuses(self, machine: Reader) -> bool:
        """Whether the server takes no connection of this user with this password; StateFailed for any other fault."""
        done = machine.query(self._command(), env=self._environment(), stdin="SELECT 1;\n")
        if done.returncode != 0 and not fault(done).startswith(_DENIED):
            raise StateFailed(fault(done))
        return done.returncode != 0

    def lacking(self, text: str) -> Exception:
        """What to raise where something is not there: it may come in a run under test=True."""
        by = next((f"{module} {name}" for module, name in sorted(self.to_come) if _BRINGING.fullmatch(module)), "")
        if by:
            return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
        return StateFailed(text)

    def _command(self) -> list[str]:
        if self.program is None:
            raise self.lacking("Neither mariadb nor mysql is there: install the client program of the server")
        return [self.program, *self.options, "--xml", "--binary-mode", "--default-character-set=utf8mb4", *_TIMEOUT,
                *([f"--database={self.database}"] if self.database else [])]  # fmt: skip

    def _environment(self) -> dict[str, str]:
        return {"MYSQL_PWD": self.password} if self.password else {}


_DENIED = ("MySQL Error 1045:", "MySQL Error 1698:")
_TIMEOUT = ("--connect-timeout=10",)
_MODE = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'"
_WRITING = (_MODE,)
_READING = (_MODE, "SET SESSION TRANSACTION READ ONLY")


def _script(first: Sequence[str], statements: Sequence[str]) -> str:
    return "".join(f"{one};\n" for one in (*first, *statements))


def session_of(machine: Reader, login: MysqlLogin, to_come: Collection[tuple[str, str]] = ()) -> MysqlSession:
    """The session that arguments and the configuration's `mysql.*` ask for.

    As in Salt, the configuration is not looked at where the arguments name a file of defaults.
    """
    own = login.connection_default_file is not None

    def chosen(option: str) -> Any:
        given = getattr(login, f"connection_{option}")
        return given or (None if own else configured(machine, f"mysql.{option}", None)) or ""

    ssl = chosen("ssl")
    if ssl and not isinstance(ssl, Mapping):
        raise StateFailed("mysql.ssl must be a mapping: ca, capath, cert, cipher, key")
    return MysqlSession(
        program=next(filter(None, map(shutil.which, _PROGRAMS)), None),
        options=(
            *_defaults(str(chosen("default_file")), str(chosen("default_group"))),
            *(f"--{word}={chosen(option)}" for option, word in _OPTIONS.items() if chosen(option)),
            *_tls(ssl or {}),
        ),
        password=str(chosen("pass")),
        database=str(chosen("db")),
        to_come=to_come,
    )


_OPTIONS = {"host": "host", "user": "user", "port": "port", "unix_socket": "socket"}


def _defaults(path: str, group: str) -> list[str]:
    """Without a file nobody's file is read, as by the libraries that Salt uses."""
    if not path:
        return ["--no-defaults"]
    if group and not group.startswith("client"):
        raise StateFailed(f"connection_default_group must begin with 'client', not be {group!r}")
    suffix = group.removeprefix("client")
    return [f"--defaults-file={path}", *([f"--defaults-group-suffix={suffix}"] if suffix else [])]


def _tls(given: Mapping[str, Any]) -> list[str]:
    unknown = ", ".join(sorted(map(str, given.keys() - _TLS.keys())))
    if unknown:
        raise StateFailed(f"There is no {unknown} of connection_ssl: there are {', '.join(_TLS)}")
    return [f"{_TLS[key]}={value}" for key, value in given.items()]


def flags_of(names: Sequence[str]) -> list[str]:
    """Options of the program for flags of a client library. StateFailed for those that it cannot be given."""
    lacking = [name for name in names if name.lower() not in (*_FLAGS, *_GRANTED)]
    if lacking:
        raise StateFailed(f"The client flag {lacking[0]} cannot be given; there are {', '.join((*_FLAGS, *_GRANTED))}")
    return [_FLAGS[name.lower()] for name in names if name.lower() in _FLAGS]


def result_sets(text: str) -> list[list[ResultRow]]:
    """The answers in what the program prints with --xml, which is strict in its form and no XML where bytes are not."""
    return [
        [
            {html.unescape(name): _value(value, whole) for name, value, whole in _fields(row)}
            for row in _ROW.findall(one)
        ]
        for one in _SET.findall(text)
    ]


def _fields(row: str) -> list[tuple[str, str, str]]:
    return [(found[1], found[2] or "", found[0]) for found in _FIELD.finditer(row)]


def _value(value: str, whole: str) -> str | None:
    return None if whole.endswith('xsi:nil="true" />') else html.unescape(value)


def fault(done: Completed) -> str:
    """What the program says of its failure, in Salt's words, without the statement, which may hold a password."""
    found = _FAULT.findall(done.stderr)
    if not found:
        lines = [line for line in done.stderr.splitlines() if line.startswith(("mariadb", "mysql"))]
        return " ".join(lines) or f"exit code {done.returncode}"
    code, text = found[-1]
    return f"MySQL Error {code}: {_NEAR.sub('', ' '.join(text.split()))}"
