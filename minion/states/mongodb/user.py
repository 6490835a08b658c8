"""The state module `mongodb_user`. A password is in no change and no comment.

Behaviour: salt.states.mongodb_user of saltext-mongodb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minion.arguments.types import Each, ToCome
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.stores.mongodb import Mongodb, MongodbLogin, RoleOfUser, as_documents, mongodb_at, roles_of


def present(
    machine: Reader,
    name: str,
    *,
    passwd: str,
    database: str = "admin",
    roles: Each | None = None,
    login: MongodbLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """A database has this user, with this password and these roles.

    `roles`: names of roles of the database, or mappings with `role` and `db`; those of other databases are left alone,
    and all of them where none are given.
    """
    server, wanted = mongodb_at(machine, login, to_come), roles_of(roles or [], database)
    found = server.users(database, name)
    if not found:
        making = {"pwd": passwd, "roles": as_documents(wanted)}
        return Plan(
            changes=(Change(key=name, reported="Present", act=_telling(server, database, "createUser", name, making)),),
            pending=f"User {name} is not present and needs to be created",
            done=f"User {name} has been created",
        )
    held = roles_of(found[0].get("roles") or [], database)
    of = {database, *(one.db for one in wanted)}
    old = [one for one in held if one.db in of]
    others = roles is not None and set(old) != set(wanted)
    refused = server.refuses(name, passwd, database)
    reported: dict[str, Any] = {"database": database}
    update: dict[str, Any] = {}
    if others:
        reported["roles"] = {"old": _shown(old, database), "new": _shown(wanted, database)}
        update["roles"] = as_documents([*wanted, *(one for one in held if one.db not in of)])
    if refused:
        reported |= {"passwd": "Set"}
        update["pwd"] = passwd
    change = Change(key=name, reported=reported, act=_telling(server, database, "updateUser", name, update))
    return Plan(
        changes=(change,) if update else (),
        comment=f"User {name} is already present",
        pending=f"User {name} is present and needs to be updated",
        done=f"User {name} has been updated",
    )


def absent(
    machine: Reader,
    name: str,
    *,
    database: str = "admin",
    login: MongodbLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """A database does not have this user."""
    server = mongodb_at(machine, login, to_come)
    if not server.users(database, name):
        return Plan(comment=f"User {name} is not present")
    return Plan(
        changes=(Change(key=name, reported="Absent", act=_telling(server, database, "dropUser", name, {})),),
        pending=f"User {name} is present and needs to be removed",
        done=f"User {name} has been removed",
    )


def _telling(
    server: Mongodb, database: str, command: str, name: str, fields: Mapping[str, Any]
) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        server.command(database, command, name, **fields)

    return act


def _shown(roles: Sequence[RoleOfUser], database: str) -> list[Any]:
    """Names of roles of the database; those of others as mappings."""
    return [one.role if one.db == database else one._asdict() for one in roles]


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
