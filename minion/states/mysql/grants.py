"""The state module `mysql_grants`: privileges of a user on a database or table.

Behaviour: doc/ref/states/all/salt.states.mysql_grants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from minion.arguments.types import IsTrue, Pairs, ToCome
from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.mysql import accounts
from minion.providers.mysql import grants as granted
from minion.providers.mysql.grants import GrantLevel, HeldGrants
from minion.providers.mysql.session import MysqlLogin, session_of
from minion.providers.mysql.sql import account
from minion.states.mysql.plans import changing


class _Grant(NamedTuple):
    """The arguments that say what is granted to whom."""

    grant: str
    database: str
    user: str
    host: str = "localhost"
    grant_option: IsTrue = False
    escape: bool = True

    @property
    def words(self) -> str:
        return f"{self.grant} on {self.database} to {self.user}@{self.host}"


def present(
    machine: Reader,
    name: str,
    *,
    given: _Grant,
    revoke_first: bool = False,
    ssl_option: Pairs = {},  # noqa: B006  (never changed)
    login: MysqlLogin,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The user has these privileges on `database`, such as `db.*`, `db.table` or `*.*`.

    With `revoke_first` it has no others on it: they are revoked, and these granted. `ssl_option` has connections of the
    user encrypted, in these ways.
    """
    session = session_of(machine, login, to_come)
    wanted, level = granted.privileges_of(given.grant), GrantLevel.of(given.database, escape=given.escape)
    kind, user, shown = granted.user_with_grants(machine, session, given.user, given.host)
    if user is None:
        raise session.lacking(
            f'Failed to execute: "GRANT {given.grant} ON {given.database} TO {given.user}@{given.host}"'
            " (there is no such user)"
        )
    held = granted.held_on(shown, level)
    every = granted.every_privilege(machine, session) if granted.is_unspoken(kind, level, wanted) else frozenset()
    missing = held.lacks(wanted, every)
    ungrantable = given.grant_option and not held.grantable
    who, statements = account(given.user, given.host), list[str]()
    surplus = revoke_first and _has_more(held, wanted, every, given)
    if surplus:
        statements += granted.taking(held.level, [(granted.ALL, "")], who, grantable=held.grantable)
    if surplus or missing or ungrantable:
        statements.append(granted.giving(held.level or level.text, wanted, who, grantable=given.grant_option))
    if ssl_option:
        needed = accounts.tls_wanted(ssl_option)
        statements += accounts.tls_requirement(user, who, needed)
    if not statements:
        return Plan(comment=f"Grant {given.words} is already present")
    return changing(
        session, name, "Present", statements, pending=f"MySQL grant {name} is set to be created",
        done=f"Grant {given.words} has been added",
        failed=f'Failed to execute: "GRANT {given.grant} ON {given.database} TO {given.user}@{given.host}"',
    )  # fmt: skip


def _has_more(held: HeldGrants, wanted: list[granted.Privilege], every: frozenset[str], given: _Grant) -> bool:
    """Whether the user has more than is wanted."""
    asked = {one for one in wanted if one[0] != "USAGE"}
    grantable = given.grant_option or any(name == "GRANT OPTION" for name, _ in wanted)
    allowed = {(name, "") for name in every} if (granted.ALL, "") in asked and every else asked
    return bool(held.privileges - allowed) or (held.grantable and not grantable)


def absent(
    machine: Reader, name: str, *, given: _Grant, login: MysqlLogin, to_come: ToCome = frozenset()
) -> Plan:  # fmt: skip
    """The user has none of these privileges on `database`; with `grant_option` it may not grant any on, either."""
    session = session_of(machine, login, to_come)
    wanted, level = granted.privileges_of(given.grant), GrantLevel.of(given.database, escape=given.escape)
    shown = granted.shown_grants(machine, session, given.user, given.host) or []
    held = granted.held_on(shown, level)
    ungranted = held.grantable and (given.grant_option or ("GRANT OPTION", "") in wanted)
    taken = held.has_any([one for one in wanted if one[0] not in ("GRANT OPTION", "USAGE")])
    if not taken and not ungranted:
        return Plan(comment=f"Grant {given.words} is not present, so it cannot be revoked")
    words = given.words.replace(" to ", " for ")
    return changing(
        session, name, "Absent",
        granted.taking(held.level, taken, account(given.user, given.host), grantable=ungranted),
        pending=f"MySQL grant {name} is set to be revoked", done=f"Grant {words} has been revoked",
        failed=f"Unable to revoke grant {words}",
    )  # fmt: skip


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
