"""Checks of `ignore_differences`, and what of them is over. Pure. Called where a policy is read, and for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.policy.policy import IgnoredDifference, Policy
from highstate.types import Pos, Problem, Stage
from matching.matcher import Matcher


def check_ignored(rules: Sequence[IgnoredDifference]) -> None:
    """ValueError for a rule that says nothing, PatternRefused for a glob over the limits."""
    for rule in rules:
        if rule.state == rule.id == rule.field == "*":
            raise ValueError("ignore_differences: an entry names a state, an id or a field")
        for glob in (rule.state, rule.id, rule.field):
            Matcher().glob(glob, "a")


def expired(policy: Policy, now: float) -> list[Problem]:
    """The entries that hold no longer; `now`: seconds since the epoch. The line is that of the entry of `policies`."""
    return [
        Problem(
            message=f"ignore_differences {rule.text()} has expired: what differs is drift again",
            pos=Pos(file="saltern.yaml", line=line, stage=Stage.YAML),
            hint="take the entry out, or give it another date",
        )
        for line, rule in _all(policy)
        if rule.rule().expired(now)
    ]


def _all(policy: Policy) -> Iterator[tuple[int, IgnoredDifference]]:
    yield from ((0, rule) for rule in policy.ignore_differences)
    for entry in policy.policies:
        yield from ((entry.line, rule) for rule in entry.changes.get("ignore_differences", ()))
