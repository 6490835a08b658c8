"""What `saltern status` shows of a minion, once and with `--watch`."""

from __future__ import annotations

from controller.cli import output
from controller.schema.minions import MinionStatus, StatusView

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


def what_changed(view: StatusView) -> object:
    """What makes a status another one than before: not the times."""
    return tuple(
        (one.minion, one.sync, one.health, one.applied_revision, one.attempted_revision, one.connected, one.message)
        for one in view.minions
    ), tuple((one.name, one.error) for one in view.remotes)
