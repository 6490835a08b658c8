"""The state module `postgres_privileges`: privileges of a role on an object, and memberships of groups.

Behaviour: doc/ref/states/all/salt.states.postgres_privileges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minion.arguments.types import CommaList
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.postgres import privileges as granted
from minion.providers.postgres.privileges import HeldPrivileges, PostgresObject
from minion.providers.postgres.session import PostgresLogin, PostgresSession, session_of
from minion.states.postgres.plans import changing, is_without_database


class ObjectArguments(NamedTuple):
    """What the privileges are on."""

    object_name: str
    object_type: str
    privileges: CommaList = ()
    prepend: str = "public"
    """Schema of a table, sequence or function."""

    def checked(self) -> PostgresObject:
        """The object; StateFailed for what cannot be one."""
        return PostgresObject.checked(self.object_name, self.object_type, self.prepend)


def present(
    machine: Reader,
    name: str,
    *,
    given: ObjectArguments,
    grant_option: bool = False,
    maintenance_db: str | None = None,
    login: PostgresLogin,
) -> Plan:
    """The role `name` has these privileges on the object, with `grant_option` so that it may grant them on.

    Who owns the object needs none. `object_name: ALL` is every table, sequence or function of the schema that there is
    by now. For the type `group` the role is a member of the role `object_name`.
    """
    session, what = session_of(machine, login, maintenance_db), given.checked()
    wanted = what.privileges(given.privileges)
    kept = Plan(comment="The requested privilege(s) are already set")
    if what.is_group:
        _require_role(machine, session, what.name)
        if granted.has_all(machine, session, name, what, wanted, grant_option=grant_option):
            return kept
        targets: Sequence[str] = ()
    else:
        found = granted.held_on(machine, session, name, what)
        if not found and not what.is_every:
            raise session.lacking(f"There is no {what.kind} {given.object_name}")
        _check_known(found, wanted)
        lacking = [one for one in found if one.owner != name and not one.has(wanted, grant_option=grant_option)]
        if not lacking:
            return kept
        targets = [one.target for one in lacking]
    if not {("postgres_user", name), ("postgres_group", name)}.intersection(login.to_come):
        _require_role(machine, session, name)
    shown = given.object_name if what.is_group else ",".join(given.privileges)
    return changing(
        session,
        name,
        "Present",
        [granted.grant_statement(name, what, targets, wanted, grant_option=grant_option)],
        pending=f"The privilege(s): {shown} are set to be granted to {name}",
        done=f"The privilege(s): {shown} have been granted to {name}",
        failed=f"Failed to grant privilege(s): {shown} to {name}",
    )


def absent(
    machine: Reader, name: str, *, given: ObjectArguments, maintenance_db: str | None = None, login: PostgresLogin
) -> Plan:
    """The role `name` has none of these privileges on the object, or is no member of the group."""
    session, what = session_of(machine, login, maintenance_db), given.checked()
    wanted = what.privileges(given.privileges)
    try:
        targets = _held_targets(machine, session, name, what, wanted)
    except StateFailed:
        if not is_without_database(machine, session):
            raise
        targets = None
    if targets is None:
        return Plan(comment="The requested privilege(s) are not set so cannot be revoked")
    shown = given.object_name if what.is_group else ",".join(given.privileges)
    return changing(
        session,
        name,
        "Absent",
        [granted.revoke_statement(name, what, targets, wanted)],
        pending=f"The privilege(s): {shown} are set to be revoked from {name}",
        done=f"The privilege(s): {shown} have been revoked from {name}",
        failed=f"Failed to revoke privilege(s): {shown} from {name}",
    )


def _held_targets(
    machine: Reader, session: PostgresSession, role: str, what: PostgresObject, wanted: Sequence[str]
) -> list[str] | None:
    """The objects on which the role holds any of these; None: on none."""
    if what.is_group:
        return None if granted.membership(machine, session, role, what.name) is None else []
    found = granted.held_on(machine, session, role, what)
    _check_known(found, wanted)
    return [one.target for one in found if one.of(wanted) & one.held.keys()] or None


def _check_known(found: Sequence[HeldPrivileges], wanted: Sequence[str]) -> None:
    for one in found:
        if unknown := one.of(wanted) - one.possible:
            raise StateFailed(f"This server has no privilege {' or '.join(sorted(unknown))}")


def _require_role(machine: Reader, session: PostgresSession, name: str) -> None:
    if not granted.has_role(machine, session, name):
        raise session.lacking(f"There is no role {name}")


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
