"""What the states of users and groups have in common: both are roles.

Called by `minion.states.postgres.user` and `group`. A password is in no change and no comment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from minion.machine.plan import Plan, Reader, Value
from minion.providers.postgres import passwords
from minion.providers.postgres.roles import PostgresRole, RoleOptions, role_of
from minion.providers.postgres.session import PostgresSession
from minion.providers.postgres.sql import identifier
from minion.states.postgres.plans import changing, removing


class RoleFlags(NamedTuple):
    """Attributes of a role; what is left out stays as it is."""

    createdb: bool | None = None
    createroles: bool | None = None
    superuser: bool | None = None
    replication: bool | None = None
    inherit: bool | None = None
    login: bool | None = None

    def given(self) -> dict[str, bool]:
        """Those that are not left out."""
        return {name: on for name, on in self._asdict().items() if on is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRole:
    """A role as a state describes it."""

    kind: str
    """`user` or `group`."""
    name: str
    flags: RoleFlags
    groups: Sequence[str]
    encrypted: bool | str | None
    password: str | None = field(default=None, repr=False)
    first_password: str | None = field(default=None, repr=False)
    """Of a role that is made, where `password` is not given."""
    refresh: bool = False
    """Whether the password is set each time."""
    valid_until: str | None = None

    def plan(self, machine: Reader, session: PostgresSession) -> Plan:
        """What makes the server's role this one."""
        method = passwords.method_of(self.encrypted) if self.password or self.first_password else "md5"
        compared = self.password is not None and not self.refresh
        found = role_of(machine, session, self.name, password=compared, valid_until=self.valid_until)
        if found is None:
            return self._creation(session, method)
        secret = self.password
        if secret is not None and compared and passwords.fits(self.name, secret, found.kept_password, method):
            secret = None
        return self._update(
            session, found, None if secret is None else passwords.verifier_of(self.name, secret, method)
        )

    def _creation(self, session: PostgresSession, method: passwords.PasswordMethod) -> Plan:
        secret = self.first_password if self.password is None else self.password
        options = RoleOptions(
            flags={"inherit": True, "login": self.kind == "user", **self.flags.given()},
            verifier=None if secret is None else passwords.verifier_of(self.name, secret, method),
            valid_until=self.valid_until,
            groups=self.groups,
        )
        return self._changing("create", session, options.statements("CREATE", self.name), "Present")

    def _update(self, session: PostgresSession, found: PostgresRole, verifier: str | None) -> Plan:
        flags = {name: on for name, on in self.flags.given().items() if found.flags[name] != on}
        groups = [group for group in self.groups if group not in found.groups]
        until = None if found.expires_so else self.valid_until
        update: dict[str, Value] = dict(flags)
        if verifier is not None:
            update["password"] = True
        if until is not None:
            update["valid_until"] = until
        if groups:
            update["groups"] = groups
        if not update:
            return Plan(comment=f"{self.kind.capitalize()} {self.name} is already present")
        options = RoleOptions(flags=flags, verifier=verifier, valid_until=until, groups=groups)
        return self._changing("update", session, options.statements("ALTER", self.name), update)

    def _changing(self, verb: str, session: PostgresSession, statements: Sequence[str], reported: Value) -> Plan:
        plan = changing(
            session,
            self.name,
            reported,
            statements,
            pending=f"{self.kind.capitalize()} {self.name} is set to be {verb}d",
            done=f"The {self.kind} {self.name} has been {verb}d",
            failed=f"Failed to {verb} {self.kind} {self.name}",
        )
        if not self.refresh or self.password is None:
            return plan
        alone = isinstance(reported, Mapping) and set(reported) == {"password"}
        return replace(plan, converges=False, each_time=alone)


def removal(machine: Reader, session: PostgresSession, kind: str, name: str) -> Plan:
    """There is no such role; `kind` is `user` or `group`, in the words of the comments."""
    what = f"{kind.capitalize()} {name}"
    if role_of(machine, session, name) is None:
        return Plan(comment=f"{what} is not present, so it cannot be removed")
    return removing(session, name, what, [f"DROP ROLE {identifier(name)}"])
