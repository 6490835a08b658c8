"""Minions for which the head means the same, together. Pure; called by `preview` once all minions are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from controller.schema.reports import ChangeClass, MinionErrors, ResourceChange


def change_classes(changes: Mapping[str, tuple[ResourceChange, ...]]) -> tuple[ChangeClass, ...]:
    """Minions with the same changes, the largest class first.

    Args:
        changes: by minion.
    """
    groups: dict[bytes, list[str]] = {}
    for minion, resources in changes.items():
        groups.setdefault(hashlib.blake2b(msgspec.msgpack.encode(resources)).digest(), []).append(minion)
    ordered = sorted((sorted(ids) for ids in groups.values()), key=lambda ids: (-len(ids), ids))
    return tuple(_change_class(ids, changes[ids[0]]) for ids in ordered)


def _change_class(ids: Sequence[str], resources: tuple[ResourceChange, ...]) -> ChangeClass:
    digest = hashlib.blake2b(msgspec.msgpack.encode(resources), digest_size=6).hexdigest()
    return ChangeClass(id=digest, minions=tuple(ids), folded=folded(ids), resources=resources)


def error_classes(found: Mapping[str, Sequence[tuple[str, str]]]) -> tuple[MinionErrors, ...]:
    """Minions with the same problems, the most first.

    Args:
        found: minion -> (text, place) of each problem.
    """
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for minion, problems in found.items():
        groups.setdefault(tuple(problems), []).append(minion)
    ordered = sorted(((sorted(ids), problems) for problems, ids in groups.items()), key=lambda one: (-len(one[0]), one))
    return tuple(
        MinionErrors(
            minions=tuple(ids),
            folded=folded(ids),
            texts=tuple(text for text, _ in problems),
            places=tuple(place for _, place in problems),
        )
        for ids, problems in ordered
    )


def folded(ids: Sequence[str]) -> str:
    """The ids for people."""
    return ", ".join(ids)
