"""The state module `postgres_group`: roles that others are members of.

Behaviour: doc/ref/states/all/salt.states.postgres_group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from minion.arguments.types import CommaList
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.postgres.session import PostgresLogin, session_of
from minion.states.postgres.roles import RoleFlags, WantedRole, removal


def present(
    machine: Reader,
    name: str,
    *,
    flags: RoleFlags,
    encrypted: bool | Literal["md5", "scram-sha-256"] | None = None,
    password: str | None = None,
    refresh_password: bool = False,
    groups: CommaList = (),
    maintenance_db: str | None = None,
    login: PostgresLogin,
) -> Plan:
    """The server has this group, a role that does not log in; what is left out stays as it is.

    `password`, `encrypted` and `refresh_password` are as in postgres_user.present. `groups` are those that the group
    is a member of itself: they are granted, never revoked.
    """
    wanted = WantedRole(
        kind="group", name=name, flags=flags, groups=groups, encrypted=encrypted, password=password,
        refresh=refresh_password,
    )  # fmt: skip
    return wanted.plan(machine, session_of(machine, login, maintenance_db))


def absent(machine: Reader, name: str, *, maintenance_db: str | None = None, login: PostgresLogin) -> Plan:
    """The server has no such group. One that owns something, or was granted something, is not removed: it fails."""
    return removal(machine, session_of(machine, login, maintenance_db), "group", name)


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
