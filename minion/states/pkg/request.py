"""An installation of packages: what it asks the package manager for, what it will change, and the act.

Called by `minion.states.pkg.state`. What a version or a pattern means is in `pkg_wanted`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Reader, Value
from minion.providers.pkg.packages import (
    Available,
    InstallOptions,
    Package,
    PackageManager,
    PackageTarget,
    TransactionStep,
)
from minion.states.pkg.steps import difference, shown, transaction, version_in
from minion.states.pkg.wanted import WantedPackages


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRequest:
    """An installation that is to be planned and done."""

    manager: PackageManager
    wanted: tuple[WantedPackages, ...]
    options: InstallOptions
    minutes: int | None
    """How old the lists of packages may be; None: as old as they are."""

    def targets(self, machine: Reader, *, strict: bool) -> list[PackageTarget]:
        """What to ask the package manager for; a version that is not to be had is an error when `strict`."""
        return [self._target(machine, one, strict) for one in self.wanted]

    def _target(self, machine: Reader, one: WantedPackages, strict: bool) -> PackageTarget:
        if not one.version:
            return PackageTarget(name=one.name)
        offered = self.manager.available(machine, [one.name], self.options.fromrepo).get(one.name)
        if one.version == "latest":
            # By its version: dnf is content with an older one that is there.
            return PackageTarget(name=one.name, version=offered.candidate if offered else "")
        fitting = [v for v in (offered.versions if offered else ()) if one.fits(self.manager, v)]
        if fitting or one.exact:
            return PackageTarget(name=one.name, version=fitting[0] if fitting else one.version)
        if strict:
            raise StateFailed(_none_fits(one, offered))
        return PackageTarget(name=one.name)

    def not_to_be_had(self, machine: Reader) -> list[str]:
        """Why the act is going to fail: versions that the lists of packages do not have, of packages that they have."""
        found = []
        for one in self.wanted:
            if one.version and one.version != "latest":
                offered = self.manager.available(machine, [one.name], self.options.fromrepo).get(one.name)
                if offered and not any(one.fits(self.manager, version) for version in offered.versions):
                    found.append(_none_fits(one, offered))
        return found


def _none_fits(one: WantedPackages, offered: Available | None) -> str:
    have = ", ".join(offered.versions) if offered else "none"
    return f"No version of package {one.name} fits {one.version!r} (there is: {have})"


def install_changes(machine: Reader, request: InstallRequest, have: Mapping[str, Package]) -> tuple[Change, ...]:
    """All that the installation changes, as one act; packages that are installed once more stand there too."""
    if not request.wanted:
        return ()
    manager = request.manager
    targets = request.targets(machine, strict=False)
    again = [one.name for one in request.wanted] if request.options.reinstall else []
    steps = [] if request.not_to_be_had(machine) else _predicted(machine, request, targets, again, have)

    def act(machine: Machine) -> Mapping[str, Value]:
        before = manager.packages(machine)
        trouble = refresh_lists(manager, machine, request.minutes)
        try:
            manager.install(machine, request.targets(machine, strict=True), request.options)
        except StateFailed as error:
            raise StateFailed("\n".join([str(error), *(f"    - {line}" for line in trouble)])) from error
        after = manager.packages(machine)
        return shown(_with_those(again, after, difference(before, after)))

    return transaction(steps, act) or (Change(key="", act=act),)


def _predicted(
    machine: Reader,
    request: InstallRequest,
    targets: Sequence[PackageTarget],
    again: Sequence[str],
    have: Mapping[str, Package],
) -> list[TransactionStep]:
    """The steps of the installation: as the package manager predicts them, else as its lists have them."""
    predicted = request.manager.predict_install(machine, targets, request.options) or []
    return _with_those(again, have, predicted) or [
        TransactionStep(name=one.name, old=version_in(have, one.name), new=_predicted_version(machine, request, one))
        for one in targets
    ]


def _with_those(
    again: Sequence[str], have: Mapping[str, Package], steps: Sequence[TransactionStep]
) -> list[TransactionStep]:
    """The steps, and those packages that keep their version though they are installed once more."""
    named = {step.name for step in steps}
    kept = [
        TransactionStep(name=one, old=version_in(have, one), new=version_in(have, one))
        for one in again
        if one not in named
    ]
    return [*steps, *kept]


def _predicted_version(machine: Reader, request: InstallRequest, target: PackageTarget) -> str:
    """The version that there will be, as far as the lists tell; Salt's word when they do not know the package."""
    offered = request.manager.available(machine, [target.name], request.options.fromrepo).get(target.name)
    if offered is None or (target.version and target.version not in offered.versions):
        return "installed"
    return target.version or offered.candidate


def refresh_lists(manager: PackageManager, machine: Reader, minutes: int | None) -> list[str]:
    """Fetch the lists when they are older; what went wrong."""
    return [] if minutes is None else manager.refresh(machine, older_than=minutes).splitlines()
