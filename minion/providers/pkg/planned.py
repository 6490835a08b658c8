"""A package manager as a run under test=True would have left it by now.

Chosen by `detection` for a planned machine (`minion.machine.planned`). What the package manager itself says is changed
by the packages that earlier states of the run would have installed or removed; its simulations know nothing of those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from minion.machine.failure import ContentUnknown
from minion.machine.plan import Reader
from minion.machine.planned.changes import PlannedPackage
from minion.providers.pkg.packages import InstallOptions, Package, PackageManager, PackageTarget, TransactionStep


class PlannedPackageManager:
    """`PackageManager` of a planned machine; what is not planned is the package manager's own."""

    def __init__(self, manager: PackageManager, planned: Mapping[str, PlannedPackage]) -> None:
        """Args:
        manager: that of the machine.
        planned: name -> how earlier states of the run would leave a package.
        """
        self._manager = manager
        self._planned = planned

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """Name -> what the machine would have of it."""
        found = dict(self._manager.packages(machine))
        for name, planned in self._planned.items():
            old = found.get(name)
            new = old or Package(name=name, version="", installed=False)
            if planned.version:
                new = replace(new, version=planned.version, installed=True)
            elif planned.version is not None:
                found.pop(name, None)
                continue
            found[name] = new if planned.held is None else replace(new, held=planned.held)
        return found

    def predict_install(
        self, machine: Reader, targets: Sequence[PackageTarget], options: InstallOptions
    ) -> Sequence[TransactionStep] | None:
        """The package manager's own prediction, less what is planned, with what would have gone before."""
        steps = self._less(self._manager.predict_install(machine, targets, options))
        if steps is None:
            return None
        back = [one.name for one in targets if self._is_gone(one.name)]
        gone = [name for name in self._planned if self._is_gone(name) and name not in back]
        if back and gone:
            raise ContentUnknown(f"whether {', '.join(gone)}, which this run would remove, would come back with it")
        offered = self._manager.available(machine, back, options.fromrepo)
        versions = {one.name: one.version for one in targets}
        fresh = {name: versions[name] or offered[name].candidate for name in back if versions[name] or name in offered}
        kept = [step for step in steps if step.name not in fresh]
        return [*kept, *(TransactionStep(name=name, old="", new=new) for name, new in fresh.items())]

    def predict_remove(self, machine: Reader, names: Sequence[str], *, purge: bool) -> Sequence[TransactionStep] | None:
        """The package manager's own prediction, less what is planned, with what only this run would install."""
        have = self._manager.packages(machine)
        own = [name for name in names if name in have]
        steps = self._less(self._manager.predict_remove(machine, own, purge=purge)) if own else []
        fresh = [name for name in names if name not in have and name in self._planned]
        others = [name for name, one in self._planned.items() if one.version and name not in have and name not in fresh]
        if fresh and others:
            raise ContentUnknown(f"whether {', '.join(others)}, which this run would install too, would go with it")
        versions = {name: self._planned[name].version or "" for name in fresh}
        return [*(steps or ()), *(TransactionStep(name=name, old=versions[name], new="") for name in fresh)]

    def predict_upgrade(self, machine: Reader, names: Sequence[str], *, whole: bool) -> Sequence[TransactionStep]:
        """The package manager's own prediction, less what is planned."""
        return self._less(self._manager.predict_upgrade(machine, names, whole=whole)) or []

    def downloaded(self, machine: Reader) -> Mapping[str, Collection[str]]:
        """What is in the cache, and what would be."""
        found = dict(self._manager.downloaded(machine))
        for name, planned in self._planned.items():
            if planned.downloaded:
                found[name] = {*found.get(name, ()), planned.downloaded}
        return found

    def _is_gone(self, name: str) -> bool:
        planned = self._planned.get(name)
        return planned is not None and planned.version == ""

    def _less(self, steps: Sequence[TransactionStep] | None) -> Sequence[TransactionStep] | None:
        """The steps that are still to be taken."""
        if steps is None:
            return None
        left = []
        for step in steps:
            planned = self._planned.get(step.name)
            old = step.old if planned is None or planned.version is None else planned.version
            if old != step.new:
                left.append(replace(step, old=old))
        return left
