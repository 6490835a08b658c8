"""Functions of `postgres` about privileges and memberships of groups."""

from __future__ import annotations

from typing import Any, NamedTuple

from minion.arguments.types import CommaList
from minion.execution.context import Context
from minion.modules.postgres.server import PRIVILEGES_AS_CONFIGURED, PrivilegesServer
from minion.providers.postgres import privileges as granted
from minion.providers.postgres.privileges import PostgresObject
from minion.providers.postgres.session import PostgresSession


class _Asked(NamedTuple):
    """Privileges on an object, in a session."""

    session: PostgresSession
    what: PostgresObject
    wanted: tuple[str, ...]

    def targets(self, context: Context, role: str) -> list[str]:
        """The object or objects, as the server names them."""
        if self.what.is_group:
            return []
        found = granted.held_on(context.machine, self.session, role, self.what)
        if not found and not self.what.is_every:
            raise self.session.lacking(f"There is no {self.what.kind} {self.what.name}")
        return [one.target for one in found]


def privileges_list(
    context: Context, name: str, object_type: str, prepend: str = "public",
    server: PrivilegesServer = PRIVILEGES_AS_CONFIGURED, runas: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Role → privilege on an object → whether it may grant it on; of a group: member → whether it takes in others."""
    what, session = PostgresObject.checked(name, object_type, prepend), server.session(context, runas)
    if what.is_group:
        return granted.members_of(context.machine, session, name)
    return granted.all_granted(context.machine, session, what)


def has_privileges(
    context: Context, name: str, object_name: str, object_type: str, privileges: CommaList = (),
    grant_option: bool = False, prepend: str = "public", server: PrivilegesServer = PRIVILEGES_AS_CONFIGURED,
    runas: str | None = None,
) -> bool:  # fmt: skip
    """Whether a role has all of these privileges on an object, or owns it; or is a member of a group."""
    asked = _asked(server.session(context, runas), object_name, object_type, prepend, privileges)
    return granted.has_all(context.machine, asked.session, name, asked.what, asked.wanted, grant_option=grant_option)


def privileges_grant(
    context: Context, name: str, object_name: str, object_type: str, privileges: CommaList = (),
    grant_option: bool = False, prepend: str = "public", server: PrivilegesServer = PRIVILEGES_AS_CONFIGURED,
    runas: str | None = None,
) -> bool:  # fmt: skip
    """Grant privileges on an object, or membership of a group; false when the role has them."""
    asked = _asked(server.session(context, runas), object_name, object_type, prepend, privileges)
    machine, option = context.machine, grant_option
    if granted.has_all(machine, asked.session, name, asked.what, asked.wanted, grant_option=option):
        return False
    statement = granted.grant_statement(
        name, asked.what, asked.targets(context, name), asked.wanted, grant_option=option
    )
    asked.session.carry_out(machine, [statement], f"Failed to grant privilege(s) to {name}")
    return True


def privileges_revoke(
    context: Context, name: str, object_name: str, object_type: str, privileges: CommaList = (),
    prepend: str = "public", server: PrivilegesServer = PRIVILEGES_AS_CONFIGURED, runas: str | None = None,
) -> bool:  # fmt: skip
    """Revoke privileges on an object, or membership of a group; false when the role has them not."""
    asked = _asked(server.session(context, runas), object_name, object_type, prepend, privileges)
    if not granted.has_all(context.machine, asked.session, name, asked.what, asked.wanted):
        return False
    statement = granted.revoke_statement(name, asked.what, asked.targets(context, name), asked.wanted)
    asked.session.carry_out(context.machine, [statement], f"Failed to revoke privilege(s) from {name}")
    return True


def _asked(session: PostgresSession, object_name: str, object_type: str, prepend: str, privileges: CommaList) -> _Asked:
    what = PostgresObject.checked(object_name, object_type, prepend)
    return _Asked(session, what, what.privileges(privileges))
