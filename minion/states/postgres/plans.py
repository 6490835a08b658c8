"""Plans whose act is a few statements."""

from __future__ import annotations

from collections.abc import Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers.postgres.session import PostgresSession


def changing(
    session: PostgresSession,
    name: str,
    reported: Value,
    statements: Sequence[str],
    *,
    pending: str,
    done: str,
    failed: str,
    apart: bool = False,
) -> Plan:
    """A plan that carries statements out, in one transaction or (`apart`) each in its own."""

    def act(machine: Machine) -> None:
        if apart:
            session.carry_out(machine, statements, failed)
        else:
            session.together(machine, statements, failed)

    return Plan(changes=(Change(key=name, reported=reported, act=act),), pending=pending, done=done)


def removing(session: PostgresSession, name: str, what: str, statements: Sequence[str], *, apart: bool = False) -> Plan:
    """A plan that takes `what` away, in the words that most states have."""
    return changing(
        session,
        name,
        "Absent",
        statements,
        pending=f"{what} is set to be removed",
        done=f"{what} has been removed",
        failed=f"{what} failed to be removed",
        apart=apart,
    )


def is_without_database(machine: Reader, session: PostgresSession) -> bool:
    """Whether a server that answers has no such database: what shall be absent from it is."""
    try:
        return not session.has_database(machine)
    except StateFailed:
        return False
