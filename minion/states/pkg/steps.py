"""Steps of package transactions: what changes, and how states show it.

Called by `minion.states.pkg.state` and `pkg_upkeep`. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minion.machine.plan import Change, Machine, Value
from minion.providers.pkg.packages import Package, TransactionStep


def transaction(steps: Sequence[TransactionStep], act: Callable[[Machine], Mapping[str, Value]]) -> tuple[Change, ...]:
    """One act, shown as all that it changes."""
    ordered = sorted(steps, key=lambda step: step.name)
    return tuple(
        Change(key=step.name, old=step.old, new=step.new, act=with_its_neighbour if number else act)
        for number, step in enumerate(ordered)
    )


def with_its_neighbour(_machine: Machine) -> None:
    """Part of its neighbour's act."""


def version_in(have: Mapping[str, Package], name: str) -> str:
    """The installed version, empty when there is none."""
    return have[name].version if name in have and have[name].installed else ""


def difference(before: Mapping[str, Package], after: Mapping[str, Package]) -> list[TransactionStep]:
    """What has really changed; a package whose leftovers went counts with the version that they were of."""
    steps = []
    for name in sorted({*before, *after}):
        old, new = version_in(before, name), version_in(after, name)
        if old != new:
            steps.append(TransactionStep(name=name, old=old, new=new))
        elif not old and name in before and name not in after:
            steps.append(TransactionStep(name=name, old=before[name].version, new=""))
    return steps


def shown(steps: Sequence[TransactionStep]) -> dict[str, Value]:
    """As `changes` has them."""
    return {step.name: {"old": step.old, "new": step.new} for step in steps}
