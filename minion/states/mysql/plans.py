"""Plans whose act is a few statements."""

from __future__ import annotations

from collections.abc import Sequence

from minion.machine.plan import Change, Machine, Plan, Value
from minion.providers.mysql.session import MysqlSession


def changing(
    session: MysqlSession,
    name: str,
    reported: Value,
    statements: Sequence[str],
    *,
    pending: str,
    done: str,
    failed: str,
) -> Plan:
    """A plan that carries statements out, one after the other: the server has no transactions for these."""

    def act(machine: Machine) -> None:
        session.carry_out(machine, statements, failed)

    return Plan(changes=(Change(key=name, reported=reported, act=act),), pending=pending, done=done)
