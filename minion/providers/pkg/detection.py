"""Which package manager this machine has.

Called by `minion.states.pkg`, `minion.states.pkgrepo` and `minion.modules.pkg`. A new provider is a module beside this
one and a line in `package_manager`. Providers are imported when they are chosen: a machine has one.
"""

from __future__ import annotations

from typing import cast

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.pkg.packages import PackageManager


def package_manager(machine: Reader) -> PackageManager:
    """The package manager of this machine, as earlier states of a test run would have left it; StateFailed when there
    is none that is known."""
    manager, planned = _manager(machine), getattr(machine, "planned_packages", None)
    if not planned:
        return manager
    from minion.providers.pkg.planned import PlannedPackageManager

    return cast(PackageManager, PlannedPackageManager(manager, planned))


def _manager(machine: Reader) -> PackageManager:
    """The package manager of this machine.

    Known by the programs that are there: a Debian on which somebody put rpm has still dpkg first.
    """
    if machine.stat("/usr/bin/dpkg-query") and machine.stat("/usr/bin/apt-get"):
        from minion.providers.pkg.apt import Apt

        return Apt()
    for program in ("dnf5", "dnf"):
        if machine.stat(f"/usr/bin/{program}"):
            from minion.providers.pkg.dnf import Dnf

            return Dnf(program)
    if machine.stat("/usr/bin/yum"):
        from minion.providers.pkg.yum import Yum

        return Yum()
    if machine.stat("/usr/bin/zypper"):
        from minion.providers.pkg.zypper import Zypper

        return Zypper()
    if machine.stat("/sbin/apk"):
        from minion.providers.pkg.apk import Apk

        return Apk()
    if machine.stat("/usr/bin/pacman"):
        from minion.providers.pkg.pacman import Pacman

        return Pacman()
    if machine.stat("/usr/local/sbin/pkg") or machine.stat("/usr/sbin/pkg"):
        from minion.providers.pkg.pkgng import PkgNg

        return PkgNg()
    system = machine.grains.get("osfullname") or "this system"
    raise StateFailed(
        f"No package manager that pkg states can use was found on {system}: apt, dnf, yum, zypper, apk, pacman "
        "and pkg are known"
    )
