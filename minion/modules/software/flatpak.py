"""The execution module `flatpak`: packages of Flatpak, and remotes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.providers import flatpaks


def install(context: Context, location: str, name: str) -> dict[str, Any]:
    """Install a package from a remote; what flatpak says."""
    return {"result": True, "output": flatpaks.install(context.machine, location, name)}


def is_installed(context: Context, name: str) -> bool:
    """Whether a package is installed."""
    return flatpaks.version_of(context.machine, name) is not None


def uninstall(context: Context, pkg: str) -> dict[str, Any]:
    """Remove a package; what flatpak says."""
    return {"result": True, "output": flatpaks.uninstall(context.machine, pkg)}


def add_remote(context: Context, name: str, location: str) -> dict[str, Any]:
    """Have packages come from a remote, too; what flatpak says."""
    return {"result": True, "output": flatpaks.add_remote(context.machine, name, location)}


def is_remote_added(context: Context, remote: str) -> bool:
    """Whether packages come from a remote of this name."""
    return remote in flatpaks.remotes(context.machine)


FUNCTIONS: Mapping[str, Any] = {
    "add_remote": add_remote,
    "install": install,
    "is_installed": is_installed,
    "is_remote_added": is_remote_added,
    "uninstall": uninstall,
}
