"""Which services restart on how many minions, and on which groups of them at once. Pure; called by `preview`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from controller.preview.folding import Fleet, folded
from controller.preview.service_acts import Action, ServiceAct
from controller.schema.reports import ServiceRestart

_TARGET = "target "
_MOST_TARGETS = 100
"""Of the top file, whose minions are looked for."""
_ORDER: dict[Action, int] = {"restart": 0, "stop": 1, "reload": 2, "start": 3}


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """Minions that people know by one name."""

    name: str
    """`role web`, `nodegroup edge`."""
    minions: frozenset[str]

    @property
    def is_target(self) -> bool:
        """Whether it is one of `groups_of_targets`."""
        return self.name.startswith(_TARGET)


def groups_of(grains: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> tuple[FleetGroup, ...]:
    """Minions with the same value of a grain, or of an item of a list; groups of one are none.

    Args:
        grains: minion -> its grains, of the whole fleet.
        names: grains by which minions are grouped.
    """
    found: dict[str, set[str]] = {}
    for name in names:
        for minion, known in grains.items():
            for value in _values(known.get(name)):
                found.setdefault(f"{name.removesuffix('s') if name == 'roles' else name} {value}", set()).add(minion)
    return tuple(FleetGroup(name, frozenset(minions)) for name, minions in sorted(found.items()) if len(minions) > 1)


def groups_of_targets(
    targets: Iterable[tuple[str, str]], select: Callable[[str, str], frozenset[str]]
) -> tuple[FleetGroup, ...]:
    """Minions that a target of the top file matches; groups of one are none.

    Args:
        targets: expression and matcher of each.
        select: the minions that an expression matches by a matcher; none where it cannot be told.
    """
    names = dict.fromkeys(islice(targets, _MOST_TARGETS))
    found = ((expression, select(expression, kind)) for expression, kind in names)
    return tuple(FleetGroup(_TARGET + expression, minions) for expression, minions in found if len(minions) > 1)


def _values(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [str(each) for each in values if isinstance(each, str | int) and each not in ("", False)]


def restarts(
    acts: Mapping[str, Sequence[ServiceAct]], groups: Sequence[FleetGroup], fleet: Fleet
) -> tuple[ServiceRestart, ...]:
    """Services that restart, stop, reload or start; those of a whole group first, then the most minions.

    Args:
        acts: by minion.
        groups: that minions are told by.
        fleet: all minions.
    """
    found: dict[tuple[str, Action], dict[str, bool]] = {}
    for minion, some in acts.items():
        for act in some:
            found.setdefault((act.service, act.action), {})[minion] = act.certain
    made = [_restart(service, action, minions, groups, fleet) for (service, action), minions in found.items()]
    return tuple(
        sorted(
            made,
            key=lambda one: (not one.whole_groups, _ORDER[one.action], -len(one.minions), one.service),
        )
    )


def _restart(
    service: str, action: Action, minions: Mapping[str, bool], groups: Sequence[FleetGroup], fleet: Fleet
) -> ServiceRestart:
    whole = [group for group in groups if group.minions <= minions.keys()]
    return ServiceRestart(
        service=service,
        action=action,
        minions=tuple(sorted(minions)),
        folded=folded(minions, fleet),
        certain=all(minions.values()),
        whole_groups=tuple(f"{group.name} ({len(group.minions)} minions)" for group in whole),
    )
