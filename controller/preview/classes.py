"""Minions for which the head means the same, up to values that differ by host. Pure; called by `preview`.

1. Equal changes are found by their digest: what follows looks at each distinct change once.
2. Changes of one shape and with the same names (titles, files) are a class, whatever their values are.
3. A change of a single minion whose names hold the minion's own (`/etc/hosts.d/web1`) is of a class with those that
   are equal once the own names are taken out.
4. Where the values of a class differ there are holes (`holes`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from controller.preview.folding import Fleet, folded
from controller.preview.holes import Holes, OwnGrains, hole_of
from controller.preview.resource_texts import ResourceTexts, texts_of, with_texts
from controller.schema.reports import ChangeClass, MinionErrors, ResourceChange
from highstate.types import Pos


@dataclass(frozen=True, slots=True)
class _Variant:
    """Minions with the very same change."""

    minions: tuple[str, ...]
    resources: tuple[ResourceChange, ...]
    texts: ResourceTexts


def change_classes(
    changes: Mapping[str, tuple[ResourceChange, ...]], grains: Mapping[str, Mapping[str, Any]], fleet: Fleet
) -> tuple[ChangeClass, ...]:
    """Minions with the same change, the largest class first.

    Args:
        changes: by minion.
        grains: of these minions.
        fleet: all minions, for their folded names.
    """
    own = {minion: OwnGrains.of(minion, grains.get(minion, {})) for minion in changes}
    groups: dict[Any, list[_Variant]] = {}
    for variant in _variants(changes):
        groups.setdefault((variant.texts.shape, variant.texts.names), []).append(variant)
    found = [_change_class(group, own, fleet) for group in _by_own_names(groups, own)]
    return tuple(sorted(found, key=lambda each: (-len(each.minions), each.minions)))


def noted(classes: Sequence[ChangeClass], whole: Mapping[str, str], cut: Container[str]) -> tuple[ChangeClass, ...]:
    """The classes, with why states are missing.

    Args:
        classes: all.
        whole: minion -> why a merge runs all of its states.
        cut: minions of which states that change are left out.
    """
    return tuple(structs.replace(each, note=_note(each, whole, cut)) for each in classes)


def _note(each: ChangeClass, whole: Mapping[str, str], cut: Container[str]) -> str:
    if any(minion in cut for minion in each.minions):
        return "more states change here than a preview shows" if each.resources else "too much changes to be shown here"
    if each.resources:
        return ""
    reasons = ", ".join(dict.fromkeys(whole[minion] for minion in each.minions if minion in whole))
    return "no state is another; all of them are run again" + (f": {reasons}" if reasons else "")


def _variants(changes: Mapping[str, tuple[ResourceChange, ...]]) -> Iterator[_Variant]:
    equal: dict[bytes, list[str]] = {}
    for minion in sorted(changes):
        equal.setdefault(_digest(changes[minion], 16), []).append(minion)
    for minions in equal.values():
        resources = changes[minions[0]]
        yield _Variant(tuple(minions), resources, texts_of(resources))


def _digest(resources: tuple[ResourceChange, ...], size: int) -> bytes:
    return hashlib.blake2b(msgspec.msgpack.encode(resources), digest_size=size).digest()


def _by_own_names(groups: Mapping[Any, list[_Variant]], own: Mapping[str, OwnGrains]) -> Iterator[list[_Variant]]:
    alone: dict[Any, list[_Variant]] = {}
    for (shape, names), group in groups.items():
        if len(group) == 1 and len(group[0].minions) == 1:
            grains = own[group[0].minions[0]]
            alone.setdefault((shape, tuple(map(grains.replaced_in, names))), []).append(group[0])
        else:
            yield group
    yield from alone.values()


def _change_class(group: Sequence[_Variant], own: Mapping[str, OwnGrains], fleet: Fleet) -> ChangeClass:
    rows = sorted((minion, variant) for variant in group for minion in variant.minions) if len(group) > 1 else []
    minions = tuple(minion for minion, _ in rows) or group[0].minions
    resources, holes = group[0].resources, Holes(minions, [own[minion] for minion in minions])
    if rows:
        resources = _with_holes(resources, [variant.texts for _, variant in rows], holes)
    return ChangeClass(
        id=_digest(resources, 6).hex(),
        minions=minions,
        folded=folded(minions, fleet),
        resources=resources,
        holes=holes.found(),
    )


def _with_holes(
    resources: tuple[ResourceChange, ...], rows: Sequence[ResourceTexts], holes: Holes
) -> tuple[ResourceChange, ...]:
    names = iter([_name(column, holes) for column in zip(*(row.names for row in rows), strict=True)])
    values = iter([holes.text(column) for column in zip(*(row.values for row in rows), strict=True)])
    return with_texts(resources, lambda _: next(names), lambda _: next(values))


def _name(column: tuple[str, ...], holes: Holes) -> str:
    """A name that differs has its minion's own in it."""
    if len(set(column)) == 1:
        return column[0]
    text = holes.grains[0].replaced_in(column[0])
    for grain in holes.grains[0].values:
        if hole_of(grain) in text:
            holes.named(hole_of(grain), tuple(each.values[grain][0] for each in holes.grains))
    return text


def error_classes(
    found: Mapping[str, Sequence[tuple[str, Pos | None]]], fleet: Fleet, place_of: Callable[[Pos], str]
) -> tuple[MinionErrors, ...]:
    """Minions with the same problems, the most first.

    Args:
        found: minion -> (text, place) of each problem.
        fleet: all minions, for their folded names.
        place_of: a place in the repository that the change moves; empty when it is not there.
    """
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for minion, problems in found.items():
        placed = tuple((text, "" if pos is None else place_of(pos)) for text, pos in problems)
        groups.setdefault(placed, []).append(minion)
    ordered = sorted(((sorted(ids), problems) for problems, ids in groups.items()), key=lambda one: (-len(one[0]), one))
    return tuple(
        MinionErrors(
            minions=tuple(ids),
            folded=folded(ids, fleet),
            texts=tuple(text for text, _ in problems),
            places=tuple(place for _, place in problems),
        )
        for ids, problems in ordered
    )
