"""The state module `mysql_query`: statements that are carried out each time.

Behaviour: doc/ref/states/all/salt.states.mysql_query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minion.arguments.types import ListOfTexts, ToCome
from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.mysql.databases import require_database
from minion.providers.mysql.queries import answer_of, answer_of_file, file_of_statements
from minion.providers.mysql.session import MysqlLogin, MysqlSession, flags_of, session_of

_Asked = Callable[[Machine], dict[str, Any]]


class _Output(NamedTuple):
    """Where the answer goes."""

    output: str | None = None
    grain: str | None = None
    key: str | None = None
    overwrite: bool = True

    @property
    def place(self) -> str:
        """In Salt's words; empty: it goes into the comment."""
        if self.output != "grain":
            return self.output or ""
        return f"grain: {self.grain}" + (f":{self.key}" if self.key is not None else "")


def run(
    machine: Reader,
    name: str,
    *,
    database: str,
    query: str,
    out: _Output,
    check_db_exists: bool = True,
    client_flags: ListOfTexts = (),
    functions: Functions,
    login: MysqlLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """A query is carried out on the database, each time; with `overwrite: False` where there is no output yet.

    The answer goes into the comment, a file (`output`) or a grain (`output: grain` and `grain`, below `key`).
    """
    session = _session(machine, session_of(machine, login, to_come), database, client_flags, check=check_db_exists)
    return _plan(machine, lambda each: answer_of(each, session, query), out, functions)


def run_file(
    machine: Reader,
    name: str,
    *,
    database: str,
    query_file: str,
    out: _Output,
    saltenv: str | None = None,
    check_db_exists: bool = True,
    client_flags: ListOfTexts = (),
    functions: Functions,
    login: MysqlLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """As `run`, with the statements of a file of the machine, of `salt://`, or of the web."""
    session = _session(machine, session_of(machine, login, to_come), database, client_flags, check=check_db_exists)
    text = file_of_statements(machine, query_file, saltenv or "base")
    return _plan(machine, lambda each: answer_of_file(each, session, text), out, functions)


def _session(
    machine: Reader, session: MysqlSession, database: str, flags: ListOfTexts, *, check: bool
) -> MysqlSession:  # fmt: skip
    options = flags_of(flags)
    if check:
        require_database(machine, session, database)
    return session.at(database, options)


def _plan(machine: Reader, ask: _Asked, out: _Output, functions: KnownFunctions) -> Plan:
    if out.output == "grain" and out.grain is None:
        raise StateFailed("Error: output type 'grain' needs the grain parameter\n")
    if there := _is_there(machine, out):
        return Plan(comment=f"No execution needed. {there} already set")

    def act(machine: Machine) -> dict[str, Value]:
        answer = ask(machine)
        if "results" in answer:
            answer["results"] = _mapped(answer)
        if out.output == "grain":
            kept = answer if out.key is None else {**_kept(machine, out), out.key: answer}
            functions.call("grains.setval", (out.grain, kept))
        elif out.output is not None:
            machine.write(out.output, _lines(answer).encode())
        return {"__comment__": str(answer)}

    what = f"storing result in {'' if out.output == 'grain' else 'file: '}{out.place}" if out.place else ""
    executed = f"Executed. Output into {out.place}" if out.place else "Executed"
    return Plan(
        changes=(Change(key="query", reported=executed, act=act),),
        pending=f"Query would execute, {what or 'not storing result'}",
        each_time=out.overwrite or out.output is None,
        converges=not out.overwrite and out.output is not None and out.output != "grain",
    )


def _is_there(machine: Reader, out: _Output) -> str:
    if out.overwrite or out.output is None:
        return ""
    if out.output != "grain":
        found = machine.stat(out.output)
        return f"File {out.output}" if found is not None and found.kind == "file" else ""
    is_set = out.grain in machine.grains if out.key is None else out.key in _kept(machine, out)
    return f"Grain {out.place.removeprefix('grain: ')}" if is_set else ""


def _kept(machine: Reader, out: _Output) -> Mapping[str, Value]:
    kept = machine.grains.get(out.grain or "", {})
    return kept if isinstance(kept, Mapping) else {}


def _mapped(answer: Mapping[str, Any]) -> list[Any]:
    """Rows by their columns. Of a file each statement has its own."""
    columns, results = answer["columns"], answer["results"]
    if columns and isinstance(columns[0], list):
        return [
            [dict(zip(names, row, strict=True)) for row in rows] for names, rows in zip(columns, results, strict=True)
        ]
    return [dict(zip(columns, row, strict=True)) for row in results]


def _lines(answer: Mapping[str, Any]) -> str:
    rows = answer.get("results", [answer])
    flat = [row for each in rows for row in (each if isinstance(each, list) else [each])]
    return "".join(f"{column}:{value}\n" for row in flat for column, value in row.items())


STATES: Mapping[str, StateFunction] = {"run": run, "run_file": run_file}
