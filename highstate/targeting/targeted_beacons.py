"""Beacons that the policy of a tree has for minions by their ids, put into the pillar of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from highstate.types import Minion, Value
from matching.matcher import Matcher


class TargetedBeacons(NamedTuple):
    """Beacons of some minions."""

    target: tuple[str, ...]
    """Globs of ids."""
    beacons: Mapping[str, Any]


def with_beacons(
    pillar: Mapping[str, Value], targeted: Sequence[TargetedBeacons], minion: Minion
) -> Mapping[str, Value]:
    """A pillar with the beacons of the tree below those of its own: of two with one name, its own counts."""
    matcher, merged = Matcher(), dict[str, Any]()
    for one in targeted:
        if any(matcher.glob(glob, minion.id) for glob in one.target):
            merged |= one.beacons
    if not merged:
        return pillar
    own = pillar.get("beacons")
    if own is not None and not isinstance(own, Mapping):
        return pillar  # it is badly formed, which the minion says
    return {**pillar, "beacons": {**merged, **(own or {})}}
