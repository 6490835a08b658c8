"""The state module `postgres_user`: roles that may log in.

Behaviour: doc/ref/states/all/salt.states.postgres_user.
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
    default_password: str | None = None,
    refresh_password: bool = False,
    valid_until: str | None = None,
    groups: CommaList = (),
    maintenance_db: str | None = None,
    login: PostgresLogin,
) -> Plan:
    """The server has this user; what is left out stays as it is.

    `password` is the password or what the server keeps of it; by `encrypted` it is kept as md5 (Salt's default) or
    scram-sha-256. `default_password` is for a new user alone. With `refresh_password` the password is not compared,
    which takes a superuser, but set at each run. `groups` are granted, never revoked.
    """
    wanted = WantedRole(
        kind="user", name=name, flags=flags, groups=groups, encrypted=encrypted, password=password,
        first_password=default_password, refresh=refresh_password, valid_until=valid_until,
    )  # fmt: skip
    return wanted.plan(machine, session_of(machine, login, maintenance_db))


def absent(machine: Reader, name: str, *, maintenance_db: str | None = None, login: PostgresLogin) -> Plan:
    """The server has no such user. One that owns something, or was granted something, is not removed: it fails."""
    return removal(machine, session_of(machine, login, maintenance_db), "user", name)


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
