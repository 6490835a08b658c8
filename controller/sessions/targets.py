"""Targets of commands: which minions an expression means, by what the controller knows of them.

An expression that cannot be read, or that no minion matches, is an error and never "all" or silence.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.api.schema import ServiceError, TargetExpression
from controller.reconcile.documents import Documents
from controller.store import Store
from highstate.targeting.match import BadTarget, match_minion, parse_target
from highstate.types import Minion


@dataclass(slots=True, kw_only=True)
class Targets:
    """Matches targets against the store's grains and the pillar of the last good documents."""

    store: Store
    documents: Documents
    nodegroups: dict[str, str]

    def select(self, target: TargetExpression) -> list[str]:
        """Ids of the accepted minions that match, sorted; ServiceError when that is nobody."""
        try:
            parse_target(target.expression, kind=target.kind, nodegroups=self.nodegroups)
        except BadTarget as error:
            raise ServiceError("bad-request", f"the target {target.expression!r} cannot be read: {error}") from error
        accepted = {record.id for record in self.store.keys.all() if record.state == "accepted"}
        pillars = "I@" in target.expression or "J@" in target.expression or target.kind.startswith("pillar")
        found = [
            record.id
            for record in self.store.minions.all()
            if record.id in accepted
            and match_minion(
                target.expression,
                Minion(id=record.id, grains=record.grains),
                self.pillar_of(record.id) if pillars else {},
                kind=target.kind,
                nodegroups=self.nodegroups,
            )
        ]
        if not found:
            hint = "`saltern status` lists the minions" if accepted else "no key is accepted yet: `saltern key list`"
            raise ServiceError("no-target", f"no minion matches {target.expression!r} ({target.kind})", hint=hint)
        return sorted(found)

    def pillar_of(self, minion: str) -> dict[str, object]:
        """The pillar of the last good document."""
        desired = self.store.desired.get(minion)
        document = self.documents.document(desired.digest) if desired else None
        return dict(document["pillar"]) if document else {}
