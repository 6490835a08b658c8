"""What `saltern status` shows of a minion, once and with `--watch`."""

from __future__ import annotations

from collections.abc import Sequence

from controller.cli import output
from controller.schema.minions import MinionStatus, StatusView, stock_agent

HEADS = ("Minion", "Sync", "Health", "Applied", "Attempted", "Since", "Seen", "Message")


def row_of(minion: MinionStatus) -> tuple[str, ...]:
    """The cells of a minion."""
    return (
        minion.minion,
        minion.sync,
        minion.health,
        minion.applied_revision,
        minion.attempted_revision,
        output.ago(minion.applied_at),
        "now" if minion.connected else output.ago(minion.last_seen) or "never",
        minion.message,
    )


def with_agents(minions: Sequence[MinionStatus]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The heads and the rows of minions; where some of them are stock minions, a column tells which."""
    rows = [row_of(minion) for minion in minions]
    agents = [stock_agent(minion.agent) for minion in minions]
    if not any(agents):
        return HEADS, rows
    return (*HEADS[:-1], "Agent", HEADS[-1]), [
        (*row[:-1], agent, row[-1]) for row, agent in zip(rows, agents, strict=True)
    ]


def what_changed(view: StatusView) -> object:
    """What makes a status another one than before: not the times."""
    return tuple(
        (one.minion, one.sync, one.health, one.applied_revision, one.attempted_revision, one.connected, one.message)
        for one in view.minions
    ), tuple((one.name, one.error) for one in view.remotes)
