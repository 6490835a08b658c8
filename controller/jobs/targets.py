"""Targets of commands: which minions an expression means, by what the controller knows of them.

An expression that cannot be read, or that no minion matches, is an error and never "all" or silence. What a range
(`R@`) means is asked of a server by `hosts`, whose answer goes to `select`; a range that nobody asked for is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from controller.reconcile.documents import Documents
from controller.schema.errors import ServiceError
from controller.schema.targets import TargetExpression
from controller.store import Store
from highstate.targeting.match import (
    BadTarget,
    Ranges,
    asked_ranges,
    id_matches,
    match_minion,
    may_ask_pillar,
    parse_target,
)
from highstate.types import Minion
from matching.linear_regex import PatternRefused
from matching.matcher import Matcher, person_matcher

_OF_IDS = frozenset(("glob", "pcre", "list"))
"""Kinds that look at the id alone, so that nobody's grains are read."""
_WITH_RANGES = frozenset(("range", "compound", "nodegroup"))
_MOST_NAMED = 100
_SPECIAL = frozenset("*?[")
"""Characters of a glob that stand for others."""


class RangeHosts(Protocol):
    """What knows which hosts a range means."""

    async def hosts(self, ranges: Sequence[str]) -> Ranges:
        """The hosts of all of these ranges; ServiceError where one of them cannot be told."""


@dataclass(slots=True, kw_only=True)
class Targets:
    """Matches targets against the store's grains and the pillar of the last good documents."""

    store: Store
    documents: Documents
    nodegroups: dict[str, str]
    ranges: RangeHosts | None = None
    """None: there are no ranges."""

    async def find(self, target: TargetExpression) -> list[str]:
        """`select`, after its ranges have been asked for."""
        return self.select(target, await self.hosts(target))

    async def hosts(self, target: TargetExpression) -> Ranges | None:
        """What `select` takes for a target: the hosts of its ranges, None where it has none. ServiceError as there."""
        if self.ranges is None or target.kind not in _WITH_RANGES:
            return None
        matcher = person_matcher()
        try:
            parse_target(target.expression, kind=target.kind, nodegroups=self.nodegroups, matcher=matcher, ranges=True)
            named = asked_ranges(target.expression, kind=target.kind, nodegroups=self.nodegroups, matcher=matcher)
        except (BadTarget, PatternRefused) as error:
            raise _unreadable(target, error) from error
        return await self.ranges.hosts(named) if named else None

    def select(self, target: TargetExpression, ranges: Ranges | None = None) -> list[str]:
        """Ids of the accepted minions that match, sorted; ServiceError when that is nobody.

        `ranges`: what `hosts` gave.
        """
        matcher = person_matcher()
        try:
            parse_target(
                target.expression,
                kind=target.kind,
                nodegroups=self.nodegroups,
                matcher=matcher,
                ranges=ranges is not None,
            )
            found = self._matching(target, matcher, ranges)
        except (BadTarget, PatternRefused) as error:
            raise _unreadable(target, error) from error
        if not found:
            accepted = self.store.keys.accepted_ids()
            hint = "`saltern status` lists the minions" if accepted else "no key is accepted yet: `saltern key list`"
            raise ServiceError("no-target", f"no minion matches {target.expression!r} ({target.kind})", hint=hint)
        return sorted(found)

    def unknown(self, target: TargetExpression) -> Sequence[str]:
        """Ids that a list names and no accepted key has, `_MOST_NAMED` of them at most."""
        if target.kind != "list":
            return []
        listed = dict.fromkeys(each for each in target.expression.split(",") if each)
        known = frozenset(self.store.keys.accepted_ids())
        return [each for each in listed if each not in known][:_MOST_NAMED]

    def names_minions(self, target: TargetExpression) -> bool:
        """Whether it names its minions, a few of them, so that `select` takes no time however many there are."""
        return _named(target) is not None

    def _matching(self, target: TargetExpression, matcher: Matcher, ranges: Ranges | None) -> list[str]:
        if target.kind == "range":
            hosts = (ranges or {})[target.expression]
            return [each for each in self.store.minions.accepted(None) if each in hosts]
        if target.kind in _OF_IDS:
            ids = self.store.minions.accepted(_named(target))
            return [each for each in ids if id_matches(target.kind, target.expression, each, matcher)]
        accepted = frozenset(self.store.keys.accepted_ids())
        pillars = may_ask_pillar(target.kind, target.expression, self.nodegroups)
        return [
            record.id
            for record in self.store.minions.all()
            if record.id in accepted
            and match_minion(
                target.expression,
                Minion(id=record.id, grains=record.grains),
                self.pillar_of(record.id) if pillars else {},
                kind=target.kind,
                nodegroups=self.nodegroups,
                matcher=matcher,
                ranges=ranges,
            )
        ]

    def pillar_of(self, minion: str) -> dict[str, object]:
        """The pillar of the last good document."""
        desired = self.store.desired.get(minion)
        document = self.documents.document(desired.digest) if desired else None
        return dict(document["pillar"]) if document else {}


def _unreadable(target: TargetExpression, error: Exception) -> ServiceError:
    return ServiceError("bad-request", f"the target {target.expression!r} cannot be read: {error}")


def _named(target: TargetExpression) -> list[str] | None:
    """The ids that a target names; None when it names none, or many."""
    if target.kind == "list":
        ids = target.expression.split(",")
        return ids if len(ids) <= _MOST_NAMED else None
    return [target.expression] if target.kind == "glob" and not _SPECIAL.intersection(target.expression) else None
