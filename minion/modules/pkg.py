"""The execution module `pkg`: what is installed, and what can be had. Packages are changed by states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minion.modules.context import Context
from minion.modules.errors import CallFailed
from minion.states.plan import StateFailed
from minion.system.packages import Package, PackageManager, package_manager


def version(context: Context, *names: str) -> Any:
    """The installed version, empty when there is none; for several names a dictionary."""
    have = _installed(context)
    versions = {name: have[name].version if name in have else "" for name in names}
    return _single(versions, names)


def latest_version(context: Context, *names: str, fromrepo: str = "") -> Any:
    """The version that an installation or upgrade would bring, empty when there is nothing newer."""
    manager = _manager(context)
    have = _installed(context)
    offered = _asked(lambda: manager.available(context.machine, names, fromrepo))
    versions = {}
    for name in names:
        candidate = offered[name].candidate if name in offered else ""
        known = have.get(name)
        newer = candidate and (known is None or manager.compare(known.version, candidate) < 0)
        versions[name] = candidate if newer else ""
    return _single(versions, names)


def list_pkgs(context: Context) -> dict[str, str]:
    """Every installed package with its version."""
    return {name: package.version for name, package in sorted(_installed(context).items())}


def list_repo_pkgs(context: Context, *names: str, fromrepo: str = "") -> dict[str, list[str]]:
    """The versions that the repositories offer of these packages, newest first."""
    manager = _manager(context)
    offered = _asked(lambda: manager.available(context.machine, names, fromrepo))
    return {name: list(one.versions) for name, one in offered.items()}


def version_cmp(context: Context, pkg1: str, pkg2: str) -> int:
    """Order of two versions: -1, 0 or 1."""
    return _manager(context).compare(str(pkg1), str(pkg2))


def refresh_db(context: Context) -> bool:
    """Fetch the lists of packages anew."""
    trouble = _asked(lambda: _manager(context).refresh(context.machine, older_than=None))
    if trouble:
        raise CallFailed(trouble)
    return True


def _installed(context: Context) -> dict[str, Package]:
    packages = _asked(lambda: _manager(context).packages(context.machine))
    return {name: package for name, package in packages.items() if package.installed}


def _manager(context: Context) -> PackageManager:
    manager: PackageManager = _asked(lambda: package_manager(context.machine))
    return manager


def _asked(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except StateFailed as error:
        raise CallFailed(str(error)) from error


def _single(values: dict[str, str], names: tuple[str, ...]) -> Any:
    """Salt's way: a plain value for a single name."""
    return values[names[0]] if len(names) == 1 else values


FUNCTIONS: Mapping[str, Any] = {
    "latest_version": latest_version,
    "available_version": latest_version,
    "list_pkgs": list_pkgs,
    "list_repo_pkgs": list_repo_pkgs,
    "refresh_db": refresh_db,
    "version": version,
    "version_cmp": version_cmp,
}
