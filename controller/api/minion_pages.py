"""A page of minions: which of them, from the last look at the fleet, and where those on the page stand now.

A look at 10,000 minions takes a second (`controller.fleet_status`), a page of a hundred some milliseconds: what is
filtered and sorted by is as old as `at` says, what is shown is not. Called by the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.fleet_status.standing import MinionStanding
from controller.schema.fleet.minion_pages import MinionPageQuery
from controller.schema.minions import HealthName, SyncName

_SYNC: tuple[SyncName, ...] = ("OutOfSync", "Progressing", "Held", "Paused", "Shadow", "Unknown", "Synced")
_HEALTH: tuple[HealthName, ...] = ("Failed", "Degraded", "Unreachable", "Drifted", "Progressing", "Healthy")
"""The worst first, in which order they are sorted."""


def needs_a_look(query: MinionPageQuery) -> bool:
    """Whether the states of all minions have to be known, and not their names alone."""
    return bool(query.sync or query.health) or query.sort != "minion"


def chosen_by_name(ids: Iterable[str], query: MinionPageQuery) -> list[str]:
    """The minions of a question that is about names alone, in its order."""
    text = query.text.casefold()
    return sorted((each for each in ids if text in each.casefold()), reverse=query.descending)


def chosen_by_state(standings: Sequence[MinionStanding], ids: Iterable[str], query: MinionPageQuery) -> list[str]:
    """The minions that a question means, in its order; those that are alike by their names.

    Args:
        standings: of the last look.
        ids: of whom is meant.
        query: what is asked.
    """
    named = set(chosen_by_name(ids, query))
    sync, health = _listed(query.sync), _listed(query.health)
    found = [
        each
        for each in standings
        if each.minion in named
        and (not sync or each.sync.value in sync)
        and (not health or each.health.value in health)
    ]
    found.sort(key=lambda each: each.minion)
    match query.sort:
        case "sync":
            found.sort(key=lambda each: _SYNC.index(each.sync.value), reverse=query.descending)
        case "health":
            found.sort(key=lambda each: _HEALTH.index(each.health.value), reverse=query.descending)
        case "minion" if query.descending:
            found.reverse()
    return [each.minion for each in found]


def _listed(text: str) -> frozenset[str]:
    return frozenset(each for each in text.split(",") if each)
