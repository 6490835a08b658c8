"""The state module `mysql_database`.

Behaviour: doc/ref/states/all/salt.states.mysql_database.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.arguments.types import ToCome
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.mysql import databases
from minion.providers.mysql.session import MysqlLogin, session_of
from minion.providers.mysql.sql import identifier
from minion.states.mysql.plans import changing

_TITLES = {"character_set": "Database character set", "collate": "Database collate"}


def present(
    machine: Reader, name: str, *, character_set: str | None = None, collate: str | None = None, login: MysqlLogin,
    to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """The server has this database, and its new tables this character set and collation.

    Tables that are there keep theirs. Without `collate` a character set has its own.
    """
    identifier(name)
    session = session_of(machine, login, to_come)
    found = databases.found_database(machine, session, name)
    if found is None:
        return changing(
            session, name, "Present", [databases.creation(name, character_set, collate)],
            pending=f"Database {name} is not present and needs to be created",
            done=f"The database {name} has been created", failed=f"Failed to create database {name}",
        )  # fmt: skip
    wanted = databases.resolved(machine, session, found, character_set, collate)
    if wanted == found:
        return Plan(comment=f"Database {name} is already present")
    changed = {key: (old, new) for key, old in found._asdict().items() if (new := getattr(wanted, key)) != old}
    said = [f"{_TITLES[key]} {new} != {old} needs to be updated" for key, (old, new) in changed.items()]
    statement = databases.alteration(name, wanted)

    def act(machine: Machine) -> None:
        session.carry_out(machine, [statement], f"Failed to update database {name}")

    first, *others = changed
    steps = [Change(key=first, reported=_turned(*changed[first]), act=act)]
    steps += [Change(key=key, reported=_turned(*changed[key]), act=lambda machine: None) for key in others]
    comment = "\n".join(said)
    return Plan(changes=tuple(steps), pending=comment, done=comment)


def absent(machine: Reader, name: str, *, login: MysqlLogin, to_come: ToCome = frozenset()) -> Plan:
    """The server has no such database."""
    identifier(name)
    session = session_of(machine, login, to_come)
    if databases.found_database(machine, session, name) is None:
        return Plan(comment=f"Database {name} is not present, so it cannot be removed")
    return changing(
        session, name, "Absent", [databases.removal(name)],
        pending=f"Database {name} is present and needs to be removed", done=f"Database {name} has been removed",
        failed=f"Unable to remove database {name}",
    )  # fmt: skip


def _turned(old: str, new: str) -> Mapping[str, str]:
    return {"before": old, "now": new}


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
