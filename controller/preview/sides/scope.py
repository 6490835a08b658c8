"""Whom a change concerns at all, and which documents of the base are at hand already.

A preview against what is live compiles the head for the minions alone whose documents read something that is other in
it (`DependencyIndex`), and takes the base from the store. Called by `preview`, in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.compilation.builder import shaping_of
from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.dependencies.index import DependencyIndex
from controller.policy.policy import Policy
from controller.preview.sides.base_side import applied_side, is_pending
from controller.store import DesiredRecord, MinionRecord
from gitfs.source import Trees
from highstate.tops.heard_tops import heard_tops
from highstate.types import Minion

_TOGETHER = 50
"""Minions that are read at a time: the event loop waits for a read that is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What has to be compiled for a preview."""

    concerned: Sequence[MinionRecord]
    """For whom the head is compiled; it changes nothing for the others."""
    kept: Mapping[str, DesiredRecord] = field(default_factory=dict)
    """Minions whose document of the base is in the store."""


def scope_of(
    before: Trees,
    after: Trees,
    minions: Sequence[MinionRecord],
    requests: CompileRequests,
    index: DependencyIndex,
    policies: tuple[Policy | None, Policy | None],
) -> Scope:
    """Who is concerned by going from one pair of trees to another.

    Args:
        before: the base.
        after: the head.
        minions: those that are asked about.
        requests: makes what is asked of the compiler.
        index: what the stored documents were made of.
        policies: of the base and of the head.
    """
    policy = policies[1]
    live = requests.live.digest
    kept = {
        record.minion: record
        for record in _desired(requests, minions)
        if record.revision == live and record.digest and not record.errors
    }
    ids = [minion.id for minion in minions]
    # Which of its Python a branch may run changes no document that reads the same files.
    affected = _affected(index, requests, after, ids, policies[1])
    if before.revision.digest != live:
        other = _affected(index, requests, before, ids, policies[0])
        kept = {minion: record for minion, record in kept.items() if minion not in other}
    waiting = _waiting(requests, minions, policy) if policy is not None and may_hold(requests.live.policy) else set()
    concerned = [minion for minion in minions if minion.id in affected or minion.id not in kept or minion.id in waiting]
    return Scope(concerned=concerned, kept={minion.id: kept[minion.id] for minion in concerned if minion.id in kept})


def _affected(
    index: DependencyIndex, requests: CompileRequests, trees: Trees, ids: Sequence[str], policy: Policy | None
) -> set[str]:
    """Whose documents may be others with these trees than the live ones."""
    request = requests.request(trees, (), None, policy)
    heard = heard_tops(request.files, request.language)
    return index.affected_now(trees.files, trees.pillar, ids, shaping_of(request), heard)


def stored_base(record: DesiredRecord, document: Callable[[str], bytes | None]) -> CompiledMinion | None:
    """The base of a minion as its live compile gave it; None when its document is not kept any more."""
    packed = document(record.digest)
    if packed is None:
        return None
    return CompiledMinion(
        minion_id=record.minion,
        document=packed,
        digest=record.digest,
        warnings=record.warnings,
        volatile=record.volatile,
    )


def may_hold(policy: Policy) -> bool:
    """Whether what is pending waits for a person on any minion."""
    said = (policy.apply == "manual" or policy.applies_nothing, *(_holds(entry.changes) for entry in policy.policies))
    return any(said)


def _holds(changes: Mapping[str, Any]) -> bool:
    return changes.get("apply") == "manual" or bool(changes.get("suspend") or changes.get("shadow"))


def _waiting(requests: CompileRequests, minions: Sequence[MinionRecord], policy: Policy) -> set[str]:
    """Minions on which something is pending that this policy has applied by itself."""
    live, known = requests.live.policy, {each.id: Minion(id=each.id, grains=each.grains) for each in minions}
    ids = list(known)
    starts = range(0, len(ids), _TOGETHER)
    rows = (row for start in starts for row in requests.store.minions.status(ids[start : start + _TOGETHER]))
    pending = (row for row in rows if is_pending(row))
    return {row.minion.id for row in pending if applied_side(row, known[row.minion.id], live, policy).released}


def _desired(requests: CompileRequests, minions: Sequence[MinionRecord]) -> Iterator[DesiredRecord]:
    for start in range(0, len(minions), _TOGETHER):
        some = [minion.id for minion in minions[start : start + _TOGETHER]]
        yield from requests.store.desired.of(some).values()
