"""pkg.removed and pkg.purged: packages that are gone, with what they had configured or without.

Called by `minion.states.pkg.state`. What goes with them is asked of the package manager's own simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.packages import Package, PackageManager, TransactionStep
from minion.states.pkg.steps import difference, shown, transaction, version_in, with_its_neighbour
from minion.states.pkg.wanted import Packages, WantedPackages, unwanted_of

_Planner = Callable[[Reader, PackageManager, Sequence[WantedPackages], Mapping[str, Package]], Plan]


def _going(planned: _Planner, doc: str) -> StateFunction:
    """A state function that takes packages away; `planned` makes the plan of what is asked for and what there is."""

    def going(
        machine: Reader,
        name: str,
        *,
        version: str | None = None,
        pkgs: Packages | None = None,
        normalize: bool = True,
        ignore_epoch: bool | None = None,
    ) -> Plan:
        manager = package_manager(machine)
        wanted = unwanted_of(machine, manager, name, version, pkgs, normalize=normalize, ignore_epoch=ignore_epoch)
        return planned(machine, manager, wanted, manager.packages(machine))

    going.__doc__ = doc
    return going


def _removed(
    machine: Reader, manager: PackageManager, wanted: Sequence[WantedPackages], have: Mapping[str, Package]
) -> Plan:
    there = _matching(manager, wanted, have)
    if not there:
        versions = any(one.version and version_in(have, one.name) for one in wanted)
        which = " (matching specified versions)" if versions else ""
        return Plan(comment=f"All specified packages{which} are already absent")
    steps = manager.predict_remove(machine, there, purge=False) or _gone(there, have)

    def act(machine: Machine) -> Mapping[str, Value]:
        return shown(_removal(machine, manager, there, purge=False)[1])

    return Plan(
        changes=transaction(steps, act),
        pending=f"The following packages will be removed: {', '.join(there)}.",
        done=_gone_comment("removed", wanted, there),
    )


def _purged(
    machine: Reader, manager: PackageManager, wanted: Sequence[WantedPackages], have: Mapping[str, Package]
) -> Plan:
    left_behind = [one.name for one in wanted if one.name in have and not have[one.name].installed]
    there = sorted([*_matching(manager, wanted, have), *left_behind])
    if not there:
        return Plan(comment="None of the targeted packages are installed or partially installed")
    steps = manager.predict_remove(machine, there, purge=True) or ()

    def act(machine: Machine) -> Mapping[str, Value]:
        before, gone = _removal(machine, manager, there, purge=True)
        return _purge_shown(gone, before)

    # A package of which only configuration is left has no version in the simulation.
    whole = {step.name: step for step in (*_gone(there, have), *steps)}
    predicted = _purge_shown([whole[one] for one in sorted(whole)], have)
    return Plan(
        changes=(
            Change(key="removed", reported=predicted["removed"], act=act),
            Change(key="installed", reported=predicted["installed"], act=with_its_neighbour),
        ),
        pending=f"The following packages will be purged: {', '.join(there)}.",
        done=_gone_comment("purged", wanted, there),
    )


def _removal(
    machine: Machine, manager: PackageManager, names: Sequence[str], *, purge: bool
) -> tuple[Mapping[str, Package], list[TransactionStep]]:
    """Remove; what there was, and what has gone."""
    before = manager.packages(machine)
    manager.remove(machine, names, purge=purge)
    return before, difference(before, manager.packages(machine))


def _gone_comment(verb: str, wanted: Sequence[WantedPackages], there: Sequence[str]) -> str:
    absent = sorted(one.name for one in wanted if one.name not in there)
    if not absent:
        return f"All targeted packages were {verb}."
    return (
        f"The following packages were not installed: {', '.join(absent)} "
        f"The following packages were {verb}: {', '.join(there)}."
    )


def _matching(manager: PackageManager, wanted: Sequence[WantedPackages], have: Mapping[str, Package]) -> list[str]:
    """Those that are installed, at the version that is to go."""
    versions = {one.name: version_in(have, one.name) for one in wanted}
    return sorted(
        one.name for one in wanted if versions[one.name] and (not one.version or one.fits(manager, versions[one.name]))
    )


def _gone(names: Sequence[str], have: Mapping[str, Package]) -> list[TransactionStep]:
    return [TransactionStep(name=one, old=have[one].version, new="") for one in names]


def _purge_shown(steps: Sequence[TransactionStep], before: Mapping[str, Package]) -> dict[str, Value]:
    """Salt's two groups: what was installed, and what was removed already with files of it left."""
    leftover = [step for step in steps if step.name in before and not before[step.name].installed]
    return {
        "removed": shown(leftover),
        "installed": shown([step for step in steps if step not in leftover]),
    }


removed = _going(_removed, "Packages are gone, those of this version where one is given; their configuration may stay.")
purged = _going(
    _purged, "Packages are gone with their configuration; of those that are installed, the ones of this version."
)
