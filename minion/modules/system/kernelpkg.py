"""The execution module `kernelpkg`: packages of the kernel.

Behaviour: doc/ref/modules/all/salt.modules.kernelpkg_linux_apt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.kernels import Kernels


def active(context: Context) -> str:
    """The release of the kernel that runs."""
    return Kernels(context.machine).active()


def list_installed(context: Context) -> list[str]:
    """Releases that are installed, the newest last."""
    return Kernels(context.machine).installed()


def latest_available(context: Context) -> str:
    """The newest that the repositories have."""
    return Kernels(context.machine).latest_available()


def latest_installed(context: Context) -> str | None:
    """The newest that is installed; null where none is."""
    return Kernels(context.machine).latest_installed() or None


def needs_reboot(context: Context) -> bool:
    """Whether one that is installed is newer than the one that runs."""
    return Kernels(context.machine).needs_reboot()


def upgrade_available(context: Context) -> bool:
    """Whether there is one that is newer than those that are installed."""
    kernels = Kernels(context.machine)
    return kernels.is_newer(kernels.latest_available(), kernels.latest_installed())


def upgrade(context: Context, reboot: bool = False, at_time: str | None = None) -> dict[str, Any]:
    """Install the newest; with `reboot` the machine is booted where that is due."""
    kernels = Kernels(context.machine)
    steps = kernels.predicted() if kernels.latest_available() not in kernels.installed() else ()
    kernels.install(context.machine)
    due = kernels.needs_reboot()
    if reboot and due:
        done = context.machine.run(["shutdown", "-r", at_time or "now"])
        if done.returncode != 0:
            raise CallFailed(f"The machine cannot be booted: {done.stderr.strip()}")
    return {
        "upgrades": {step.name: {"old": step.old, "new": step.new} for step in steps},
        "active": kernels.active(),
        "latest_installed": kernels.latest_installed(),
        "reboot_requested": reboot,
        "reboot_required": due,
    }


def remove(context: Context, release: str) -> dict[str, list[str]]:
    """Remove the package of a kernel; never that of the one that runs."""
    return {"removed": [Kernels(context.machine).remove(context.machine, release)]}


def cleanup(context: Context, keep_latest: bool = True) -> dict[str, list[str]]:
    """Remove the packages of all kernels but the one that runs, and the newest."""
    kernels = Kernels(context.machine)
    kept = {kernels.active(), *([kernels.latest_installed()] if keep_latest else [])}
    return {"removed": [kernels.remove(context.machine, one) for one in kernels.installed() if one not in kept]}


FUNCTIONS: Mapping[str, Any] = {
    "active": active,
    "cleanup": cleanup,
    "latest_available": latest_available,
    "latest_installed": latest_installed,
    "list_installed": list_installed,
    "needs_reboot": needs_reboot,
    "remove": remove,
    "upgrade": upgrade,
    "upgrade_available": upgrade_available,
}
