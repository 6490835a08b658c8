"""Packages of the kernel: which is active, which are installed, which could be. Called by `kernelpkg`.

Behaviour: salt.modules.kernelpkg_linux_apt and kernelpkg_linux_yum. The newest one of apt is what the package of all
kernels of this kind (linux-image-amd64) depends on; Salt reads it from a version that only Ubuntu has in that form.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.packages import InstallOptions, PackageManager, PackageTarget, TransactionStep


class Kernels:
    """Those of one machine."""

    def __init__(self, machine: Reader) -> None:
        self._machine = machine
        self._manager: PackageManager = package_manager(machine)
        self._is_apt = machine.grains.get("os_family") == "Debian"

    def active(self) -> str:
        """The release of the one that runs."""
        release = str(self._machine.grains["kernelrelease"])
        return release if self._is_apt else release.removesuffix(f".{self._machine.grains.get('cpuarch', '')}")

    def installed(self) -> list[str]:
        """Releases that are installed, the newest last."""
        if self._is_apt:
            form = re.compile(rf"linux-image-(?P<release>[\d.-]+(?:\+[\w.]+)?-{re.escape(self._kind())})")
            found = [match["release"] for name, one in self._manager.packages(self._machine).items()
                     if one.installed and (match := form.fullmatch(name))]  # fmt: skip
        else:
            done = self._machine.query(["rpm", "-q", "--qf", "%{VERSION}-%{RELEASE}\\n", "kernel"])
            found = done.stdout.split() if done.returncode == 0 else []
        return sorted(found, key=functools.cmp_to_key(self._manager.compare))

    def latest_installed(self) -> str:
        """The newest that is installed; empty where none is."""
        return (self.installed() or [""])[-1]

    def latest_available(self) -> str:
        """The newest that can be had, or is there."""
        if not self._is_apt:
            offered = self._manager.available(self._machine, ["kernel"]).get("kernel")
            return offered.candidate if offered else self.latest_installed()
        done = self._machine.query(["apt-cache", "depends", f"linux-image-{self._kind()}"])
        found = re.search(r"Depends: linux-image-(\d\S*)", done.stdout)
        return found[1] if found else self.latest_installed()

    def is_newer(self, release: str, than: str) -> bool:
        """Whether a release is newer than another one."""
        return bool(release) and (not than or self._manager.compare(release, than) > 0)

    def needs_reboot(self) -> bool:
        """Whether one that is installed is newer than the one that runs."""
        return self.is_newer(self.latest_installed(), self.active())

    def predicted(self) -> Sequence[TransactionStep]:
        """What an installation of the newest would change; the package alone where that is not known."""
        target = self._target()
        found = self._manager.predict_install(self._machine, [target], InstallOptions())
        return found or [TransactionStep(name=target.name, old="", new=target.version or self.latest_available())]

    def install(self, machine: Machine) -> None:
        """Install the newest."""
        self._manager.install(machine, [self._target()], InstallOptions())

    def remove(self, machine: Machine, release: str) -> str:
        """Remove one; the name of its package. StateFailed for the one that runs, or that is not there."""
        if release not in self.installed():
            raise StateFailed(f"Kernel release '{release}' is not installed")
        if release == self.active():
            raise StateFailed("Active kernel cannot be removed")
        package = f"linux-image-{release}" if self._is_apt else f"kernel-{release}"
        self._manager.remove(machine, [package], purge=self._is_apt)
        return package

    def _target(self) -> PackageTarget:
        release = self.latest_available()
        if self._is_apt:
            return PackageTarget(name=f"linux-image-{release}")
        return PackageTarget(name="kernel", version=release)

    def _kind(self) -> str:
        """What stands after the numbers: `amd64`, `cloud-amd64`, `generic`."""
        found = re.fullmatch(r"[\d.-]+(?:\+[\w.]+)?-(.+)", self.active())
        if found is None:
            raise StateFailed(f"{self.active()} is no kernel of a package")
        return found[1]
