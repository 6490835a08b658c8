"""What shells offer for arguments: ids of minions, runs, jobs and rollouts, functions, saltenvs.

Called by click when a shell completes. The controller is asked for a second at most; where it does not answer, nothing
is offered, or the ids of minions that it told last. Nothing heavy is imported at the top.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from controller.cli.failure import Failure
from controller.cli.options import DEFAULT_CONFIG_DIR

if TYPE_CHECKING:
    from controller.schema.fleet.minion_pages import MinionPage

_View = TypeVar("_View")

SECONDS = 1.0
"""That a shell waits for the controller."""
FRESH_SECONDS = 30.0
"""That ids of minions are offered without asking again."""
STALE_SECONDS = 86_400.0
"""That they are offered while the controller does not answer."""
MOST_IDS = 1000
"""That are asked for, and kept; of a larger fleet those that begin like what was typed are asked for each time."""


def minions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of minions; nothing where TARGET is of a kind that is no id."""
    kinds = {name for name, given in context.params.items() if name.startswith("kind_") and given}
    if kinds - {"kind_list"}:
        return []
    before, comma, last = incomplete.rpartition(",") if "kind_list" in kinds else ("", "", incomplete)
    return [f"{before}{comma}{minion}" for minion in _minion_ids(context, last) if minion.startswith(last)]


def runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the newest runs."""
    from controller.schema.runs import HistoryEntry

    entries = _asked(context, "/history", tuple[HistoryEntry, ...], limit=100) or ()
    return _beginning((entry.run_id for entry in entries), incomplete)


def runs_and_minions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Where an argument is either."""
    return [*minions(context, parameter, incomplete), *runs(context, parameter, incomplete)]


def jobs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the newest jobs."""
    from controller.schema.jobs import JobView

    views = _asked(context, "/jobs", tuple[JobView, ...], limit=100) or ()
    return _beginning((view.jid for view in views), incomplete)


def rollouts(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the newest rollouts."""
    from controller.schema.fleet.rollouts import RolloutView

    views = _asked(context, "/rollouts", tuple[RolloutView, ...], limit=100) or ()
    return _beginning((view.id for view in views), incomplete)


def orchestrations(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Ids of orchestrations."""
    from controller.schema.orchestrations import OrchestrationView

    views = _asked(context, "/orchestrations", tuple[OrchestrationView, ...], limit=100) or ()
    return _beginning((view.jid for view in views), incomplete)


def environments(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Saltenvs that minions have states from."""
    from controller.schema.fleet.status import FleetStatusView

    view = _asked(context, "/status/fleet", FleetStatusView, by="environment")
    names = [] if view is None else [group.name for group in view.groups if not group.name.startswith("(")]
    return _beginning(names, incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _config_dir(context: click.Context) -> Path:
    at: click.Context | None = context
    while at is not None:
        if given := at.params.get("config_dir"):
            return Path(given)
        at = at.parent
    return DEFAULT_CONFIG_DIR


def _asked(context: click.Context, path: str, of: type[_View], **query: str | int) -> _View | None:
    """What the controller answers; None where it does not, or this user may not ask."""
    from controller.cli.client import Client

    try:
        with Client(_config_dir(context), seconds=SECONDS) as client:
            return client.get(path, of, **query)
    except (Failure, OSError):
        return None


def _minion_ids(context: click.Context, incomplete: str) -> Sequence[str]:
    from controller.cli.configuration import socket_of
    from controller.cli.kept_ids import keep_ids, kept_ids
    from controller.schema.fleet.minion_pages import MinionPage

    try:
        key = str(socket_of(_config_dir(context)))
    except (Failure, OSError):
        return ()
    if (fresh := kept_ids(key, FRESH_SECONDS)) is not None:
        return fresh
    page = _asked(context, "/minions", MinionPage, limit=MOST_IDS)
    if page is None:
        return kept_ids(key, STALE_SECONDS) or ()
    if page.total > MOST_IDS and incomplete:
        page = _asked(context, "/minions", MinionPage, limit=MOST_IDS, text=incomplete) or page
        return _ids(page)
    if page.total <= MOST_IDS:
        keep_ids(key, _ids(page))
    return _ids(page)


def _ids(page: MinionPage) -> list[str]:
    return [each.minion for each in page.minions]
