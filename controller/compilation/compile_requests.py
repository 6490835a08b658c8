"""What is asked of the compiler for minions and trees. Called by `BuildReconciler` and by previews."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.compilation.compile_messages import CompileRequest
from controller.config.sections import PortOptions
from controller.policy.policy import Policy
from controller.reconcile.live import LiveRevision
from controller.store import MinionRecord, Store
from gitfs.source import Trees
from highstate.compile_options import CompileOptions
from highstate.types import Minion

_FEW = 50
"""Minions that are read one by one rather than all at once."""


@dataclass(slots=True, kw_only=True)
class CompileRequests:
    """Makes requests from the configuration, the live policy and the store."""

    store: Store
    live: LiveRevision
    language: CompileOptions
    """Fields of `highstate.Settings`."""
    ports: PortOptions = field(default_factory=PortOptions, repr=False)
    """See `CompileRequest.ports`."""
    check_rate: float = 0.0
    """See `CompileRequest.check_rate`."""

    def request(
        self,
        trees: Trees,
        minions: Iterable[MinionRecord],
        more: Mapping[str, Any] | None = None,
        policy: Policy | None = None,
    ) -> CompileRequest:
        """A request for these minions; `more` are options of the language for this request alone.

        `policy` is that of the trees where they are not live: what it says of their own files holds for them.
        """
        opts = {**self.language.opts, **(more or {})}
        minions, chosen = tuple(minions), policy or self.live.policy
        recorded = self.store.facts.by_minion({each.id for each in minions}) if minions else {}
        return CompileRequest(
            files=trees.files,
            pillar=trees.pillar,
            minions=tuple(Minion(id=each.id, grains=each.grains) for each in minions),
            language=replace(self.language, opts=opts, missing_source=chosen.missing_source),
            drift=chosen.drift_document(),
            drifts=_drifts(chosen, minions),
            drift_rules=repr(_drift_entries(chosen)),
            beacons=chosen.beacons,
            ports=self.ports,
            facts={minion: {each.question: each.answer for each in found} for minion, found in recorded.items()},
            allowed_facts=chosen.facts,
            check_rate=self.check_rate,
        )

    def known(self, ids: Collection[str]) -> list[MinionRecord]:
        """The minions among these that have sent their grains, by id."""
        if len(ids) > _FEW:
            return [record for record in self.store.minions.all() if record.id in ids and record.grains]
        records = [self.store.minions.get(minion) for minion in sorted(ids)]
        return [record for record in records if record is not None and record.grains]

    def accepted(self) -> list[MinionRecord]:
        """All minions with an accepted key that have sent their grains, by id."""
        return self.known(frozenset(self.store.keys.accepted_ids()))


_OF_DRIFT = ("drift.", "ignore_differences", "prune", "shadow")
"""How keys of policies begin that documents carry."""


def _drifts(policy: Policy, minions: Iterable[MinionRecord]) -> dict[str, dict[str, Any]]:
    """What documents say about drift to those that have others than the fleet."""
    if not _drift_entries(policy):
        return {}
    found = ((each.id, policy.of(Minion(id=each.id, grains=each.grains))) for each in minions)
    fleet = policy.drift_document()
    return {minion: said for minion, one in found if (said := one.drift_document()) != fleet}


def _drift_entries(policy: Policy) -> list[tuple[str, dict[str, Any]]]:
    """The target, and what it changes of drift checks, of each entry that changes something of them."""
    found = (
        (entry.expression, {key: value for key, value in entry.changes.items() if key.startswith(_OF_DRIFT)})
        for entry in policy.policies
    )
    return [(expression, changes) for expression, changes in found if changes]
