"""pkg.downloaded: package files that are in the package manager's cache, so that an installation need not wait.

Registered and called by `minion.states.pkg.state`. Behaviour: doc/ref/states/all/salt.states.pkg, downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Plan, Reader, Value
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.packages import InstallOptions, PackageManager, PackageTarget, TransactionStep
from minion.states.pkg.steps import transaction
from minion.states.pkg.wanted import Packages, WantedPackages, wanted_of


def downloaded(
    machine: Reader,
    name: str,
    *,
    version: str | None = None,
    pkgs: Packages | None = None,
    fromrepo: str | None = None,
    ignore_epoch: bool | None = None,
) -> Plan:
    """The files of these packages are in the cache, at the version asked for or at the one that is offered."""
    manager = package_manager(machine)
    if pkgs == ():
        return Plan(comment="No packages to download provided")
    wanted = wanted_of(manager, name, version, pkgs, allow_updates=False, ignore_epoch=ignore_epoch)
    options = InstallOptions(fromrepo=fromrepo or "")
    targets = [_target(machine, manager, one, options.fromrepo) for one in wanted]
    kept = manager.downloaded(machine)
    missing = [one for one in targets if one.version not in kept.get(one.name, ())]
    if not missing:
        which = " (matching specified versions)" if any(one.version for one in wanted) else ""
        return Plan(comment=f"All specified packages{which} are already downloaded")

    def act(machine: Machine) -> Mapping[str, Value]:
        manager.download(machine, missing, options)
        have = manager.downloaded(machine)
        failed = [f"{one.name}={one.version}" for one in missing if one.version not in have.get(one.name, ())]
        if failed:
            raise StateFailed(f"The following packages failed to download: {', '.join(failed)}")
        return {}

    listed = ", ".join(one.name for one in missing)
    return Plan(
        changes=transaction([TransactionStep(name=one.name, old="", new=one.version) for one in missing], act),
        pending=f"The following packages would be downloaded: {listed}",
        done=f"Packages downloaded: {listed}",
    )


def _target(machine: Reader, manager: PackageManager, one: WantedPackages, fromrepo: str) -> PackageTarget:
    """With the version that is to be there."""
    offered = manager.available(machine, [one.name], fromrepo).get(one.name)
    if offered is None:
        raise StateFailed(f"Package {one.name} is not offered by any repository")
    if not one.version or one.version == "latest":
        return PackageTarget(name=one.name, version=offered.candidate)
    fitting = [version for version in offered.versions if one.fits(manager, version)]
    if not fitting:
        raise StateFailed(
            f"No version of package {one.name} fits {one.version!r} (there is: {', '.join(offered.versions)})"
        )
    return PackageTarget(name=one.name, version=fitting[0])
