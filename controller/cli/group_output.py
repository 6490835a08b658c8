"""Prints where groups of minions stand, for `saltern status --by`."""

from __future__ import annotations

import textwrap
from collections import Counter

import click

from controller.cli import output
from controller.schema.fleet.status import FleetStatusView, GroupStatus, ReasonCount

_WIDTH = 80
_COLOURS = {"True": "green", "False": "yellow", "Unknown": "bright_black"}
_GOOD_FALSE = frozenset({"Suspended", "RolloutProgressing"})
"""Conditions that are usually false."""


def show_groups(view: FleetStatusView, out: str) -> None:
    """Print the groups."""
    if out != "text":
        output.document(view, out)
        return
    heads = ("Group", "Minions", "Connected", "Synced", "Healthy", "Applied", "Worst")
    output.table(heads, [_row(group) for group in view.groups])
    for group in view.groups:
        _show(group)
    if not any(group.minions for group in view.groups):
        output.remark("no minion has an accepted key yet; see `saltern key list`")


def _row(group: GroupStatus) -> tuple[str, ...]:
    applied = max(group.revisions, key=lambda one: one.applied, default=None)
    return (
        group.name,
        str(group.minions),
        str(group.connected),
        str(sum(one.minions for one in group.states if one.sync == "Synced")),
        str(sum(one.minions for one in group.states if one.health == "Healthy")),
        f"{applied.revision or '-'} ({applied.applied})" if applied else "",
        f"{group.reasons[0].reason} ({group.reasons[0].minions})" if group.reasons else "",
    )


def _show(group: GroupStatus) -> None:
    click.echo(f"\n{output.styled(output.printable(group.name), bold=True)}")
    for name, counts in (("sync", _counts(group, "sync")), ("health", _counts(group, "health"))):
        if counts:
            _line(name, ", ".join(f"{each} {count}" for each, count in counts.most_common()))
    for name in ("applied", "attempted"):
        found = [(one.revision or "none", getattr(one, name)) for one in group.revisions if getattr(one, name)]
        more = f", {output.counted(group.more_revisions, 'more revision')}" if group.more_revisions else ""
        if found:
            _line(name, ", ".join(f"{label} {count}" for label, count in found) + more)
    for one in group.conditions:
        colour = None if one.status == "False" and one.type in _GOOD_FALSE else _COLOURS[one.status]
        status = output.styled(f"{one.status:7}", fg=colour)
        since = output.ago(one.last_transition)
        click.echo(f"  {one.type:18} {status} {output.printable(one.reason)}, since {since}")
        _wrapped(21, one.message)
    for reason in group.reasons:
        _show_reason(reason)
    if group.more_reasons:
        click.echo(f"  {output.counted(group.more_reasons, 'more reason')}")


def _show_reason(one: ReasonCount) -> None:
    since = f", {output.ago(one.since)}" if one.since is not None else ""
    names = ", ".join(one.names) + (", ..." if one.minions > len(one.names) else "")
    click.echo(output.printable(f"  {one.minions} x {one.reason}{since}: {names}"))
    _wrapped(6, one.message)


def _line(name: str, text: str) -> None:
    lines = textwrap.wrap(output.printable(text, ""), _WIDTH - 21, break_on_hyphens=False)
    for place, line in enumerate(lines):
        click.echo(f"  {'' if place else name:18} {line}")


def _wrapped(indent: int, text: str) -> None:
    for line in textwrap.wrap(output.printable(text, ""), _WIDTH - indent, break_on_hyphens=False):
        click.echo(" " * indent + line)


def _counts(group: GroupStatus, name: str) -> Counter[str]:
    found = Counter[str]()
    for one in group.states:
        found[getattr(one, name)] += one.minions
    return found
