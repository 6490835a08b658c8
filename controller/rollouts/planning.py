"""Who comes when: the batches of a rollout, with canaries of every class of change on every operating system.

Made once, when all minions are compiled against the revision; called in a thread, since it compares documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import structlog

from controller.policy.rollout import RolloutPolicy, Wave
from controller.reconcile.links import Links
from controller.reconcile.plan import plan
from controller.rollouts.rollout import Batch
from highstate.desired import Desired
from highstate.targeting.match import match_minion
from highstate.types import Minion

log = structlog.get_logger("saltern.rollouts")

COMPARE_SECONDS = 5.0
"""For comparing documents; of further minions the grains say what class they are of."""
_GROUPS = ("role", "roles")

ChangeSignature: TypeAlias = frozenset[tuple[str, str, str]]
"""(kind of change, function, id of the state with the minion's id taken out) of all that a push touches."""
FindDocument: TypeAlias = Callable[[str], Desired]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutMember:
    """A minion that a push changes something for."""

    minion: Minion
    connected: bool
    applied: str
    """Digest of the document that it has."""
    desired: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRollout:
    """Batches in their order, and what the push touches."""

    batches: tuple[Batch, ...]
    functions: frozenset[str] | None
    """State functions (`pkg.installed`); None: not all were looked at."""


def plan_rollout(policy: RolloutPolicy, members: Sequence[RolloutMember], document: FindDocument) -> PlannedRollout:
    """The batches of a rollout.

    Args:
        policy: of the revision.
        members: whom it concerns.
        document: gives a document by its digest; LookupError when there is none.
    """
    wanted = policy.canary > 0 or policy.approvals is not None
    signatures = _signatures(members, document) if wanted else {}
    known = len(signatures) == len({(one.applied, one.desired) for one in members})
    functions = frozenset(fun for found in signatures.values() for _, fun, _ in found) if wanted and known else None
    batches: list[Batch] = []
    for wave, of_wave in _by_wave(policy.waves, members):
        batches += _batches(policy, wave, of_wave, signatures)
    return PlannedRollout(batches=tuple(batches), functions=functions)


def _by_wave(waves: Sequence[Wave], members: Sequence[RolloutMember]) -> Iterable[tuple[Wave, list[RolloutMember]]]:
    """Each wave with its minions: each minion is in the first that means it; those that none means come last."""
    rest = list(members)
    for wave in waves:
        found = [one for one in rest if match_minion(wave.target, one.minion)]
        taken = {one.minion.id for one in found}
        rest = [one for one in rest if one.minion.id not in taken]
        yield wave, found
    yield Wave(name="all" if not waves else "rest"), rest


def _batches(
    policy: RolloutPolicy, wave: Wave, members: list[RolloutMember], signatures: dict[tuple[str, str], ChangeSignature]
) -> Iterable[Batch]:
    if not members:
        return
    members = sorted(members, key=lambda one: (not one.connected, one.minion.id))
    canaries = _canaries(policy.canary, members, signatures)
    rest = [one.minion.id for one in members if one.minion.id not in canaries]
    soak = policy.soak if wave.soak is None else wave.soak
    parts = [(True, tuple(sorted(canaries)))] if canaries else []
    size = policy.batch_of(wave, len(members))
    parts += [(False, tuple(rest[start : start + size])) for start in range(0, len(rest), size)]
    for place, (canary, minions) in enumerate(parts):
        yield Batch(
            wave=wave.name,
            canary=canary,
            minions=minions,
            soak=soak,
            approve=wave.approve and place == 0,
            gates=(*policy.gates, *wave.gates),
        )


def _canaries(
    count: int, members: Sequence[RolloutMember], signatures: dict[tuple[str, str], ChangeSignature]
) -> frozenset[str]:
    """The first `count` of each class of change and operating system; those that are connected come first."""
    found: dict[object, list[str]] = {}
    for one in members if count else ():
        grains = one.minion.grains
        signature: object = signatures.get((one.applied, one.desired))
        if signature is None:
            signature = tuple(repr(grains.get(name)) for name in _GROUPS)
        same = found.setdefault((signature, grains.get("os"), grains.get("osmajorrelease")), [])
        if len(same) < count:
            same.append(one.minion.id)
    return frozenset(minion for same in found.values() for minion in same)


def _signatures(members: Iterable[RolloutMember], document: FindDocument) -> dict[tuple[str, str], ChangeSignature]:
    """Documents before and after -> what differs, as far as that is found in `COMPARE_SECONDS`."""
    found: dict[tuple[str, str], ChangeSignature] = {}
    until = time.monotonic() + COMPARE_SECONDS
    for one in members:
        pair = (one.applied, one.desired)
        if pair in found:
            continue
        if time.monotonic() > until:
            log.warning("classes of change of some minions are taken from their grains", compared=len(found))
            return found
        try:
            changes = plan(document(one.applied), document(one.desired), _no_links).changes
        except LookupError:
            continue
        found[pair] = frozenset(
            (each.kind.value, f"{each.chunk.state}.{each.chunk.fun}", each.chunk.id.replace(one.minion.id, "*"))
            for each in changes
        )
    return found


def _no_links(_chunks: object) -> Links:
    """Which states others trigger makes no class of its own."""
    return Links(keys=(), followers={}, listeners={}, needs={})
