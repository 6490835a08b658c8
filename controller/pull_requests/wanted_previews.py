"""What is to be previewed of a pull request, and what the stored report is about. Pure."""

from __future__ import annotations

from controller.forges.client import PullState
from controller.pull_requests.instructions import Look, PullRules
from controller.store.pull_requests import Previewed, PullRecord


def wanted_preview(look: Look, rules: PullRules) -> Previewed | None:
    """What should be previewed; None while nobody has asked for it who may, or nothing is to be previewed."""
    record, pull = look.record, look.pull
    if not is_served(look, rules):
        return None
    restricted = pull.from_fork and record.allowed != pull.head
    if restricted and rules.strangers != "restricted":
        return None
    return Previewed(
        head=pull.head, base_branch=pull.base_branch, restricted=restricted, at=record.asked_at, base=look.base
    )


def waits_for_maintainer(look: Look, rules: PullRules) -> bool:
    """Whether it is a stranger's, and nobody with write access has asked for a preview of its head."""
    pull = look.pull
    is_open = pull.state is PullState.OPEN and is_served(look, rules)
    return is_open and pull.from_fork and wanted_preview(look, rules) is None


def is_current(record: PullRecord, wanted: Previewed | None) -> bool:
    """Whether the stored report is about what is wanted."""
    return wanted is not None and record.previewed is not None and same_preview(record.previewed, wanted)


def is_served(look: Look, rules: PullRules) -> bool:
    """Whether a pull request is one for which anything is done."""
    pull = look.pull
    waits = pull.draft and not rules.drafts and look.record.allowed != pull.head
    return not waits and (not rules.branches or pull.base_branch in rules.branches)


def base_moved(record: PullRecord, base: str) -> bool:
    """Whether the stored report is about another base than the one of now."""
    return bool(base) and record.previewed is not None and record.previewed.base != base


def again_at(record: PullRecord, seconds: float) -> float:
    """When the preview of a head is made again at the earliest, as its base has moved.

    Args:
        record: with a report.
        seconds: between the beginnings of two previews.
    """
    return max(record.retry_at, (record.previewed.at if record.previewed is not None else 0.0) + seconds)


def same_preview(one: Previewed, wanted: Previewed) -> bool:
    """Whether a preview answers what is wanted."""
    what = (one.head, one.base_branch, one.restricted) == (wanted.head, wanted.base_branch, wanted.restricted)
    return what and one.at >= wanted.at
