"""What no state names any more, as the API gives it. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from controller.schema.minions import MinionStatus
from controller.schema.plans import PruneView, UnnamedView
from matching.matcher import Matcher
from wire.messages import PruneReport


def prune_view(report: PruneReport | None, wanted: str | None = None) -> PruneView | None:
    """A report for people; None where there is nothing to tell.

    Args:
        report: as the minion gave it last.
        wanted: a glob of what is told: the ID or name of a state that made it, or a resource.
    """
    if report is None:
        return None
    told = tuple(
        UnnamedView(resource=each.resource, inverse=each.inverse, maker=each.maker, fate=each.fate, why=each.why)
        for each in report.resources
        if wanted is None or _is_meant(wanted, each.resource, each.maker)
    )
    if not told and not report.more and not report.full:
        return None
    return PruneView(
        mode=report.mode,
        owned=report.owned,
        resources=told,
        more=report.more if wanted is None else 0,
        held=report.held,
        full=report.full,
    )


def with_unnamed(status: MinionStatus, told: int, held: str) -> MinionStatus:
    """The status of a minion that has so many of them, and why they are held back."""
    return replace(status, unnamed=told, prune_held=held)


def _is_meant(wanted: str, resource: str, maker: str) -> bool:
    match = Matcher()
    return any(match.glob(wanted, text) for text in (resource, resource.partition(":")[2], maker.partition(" (")[0]))
