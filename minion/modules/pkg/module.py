"""The execution module `pkg`: what is installed, what can be had, and changing it, whatever the package manager.

What only Debian's tools can say is in `debian` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import IsTrue, Reads, as_comma_list, as_list, as_text
from minion.execution.apply_state import act
from minion.execution.arguments import AlwaysDone, NoCache, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.pkg.debian import FUNCTIONS as DEBIAN
from minion.modules.pkg.installed import Changes, changes_between, list_pkgs, manager_of
from minion.providers.pkg.packages import InstallOptions, Package, PackageManager, PackageTarget


def as_package_list(value: Any) -> tuple[PackageTarget, ...]:
    """Names with commas, or a list of names and of `{name: version}`."""
    listed = as_comma_list(value) if isinstance(value, str) else as_list(value)
    pairs = (pair for one in listed for pair in (one.items() if isinstance(one, Mapping) else [(one, "")]))
    return tuple(PackageTarget(name=as_text(name), version=as_text(version or "")) for name, version in pairs)


def as_source_files(value: Any) -> tuple[str, ...]:
    """Files of packages, of a list of paths and of `{name: path}`."""
    return tuple(str(path) for one in as_list(value) for path in (one.values() if isinstance(one, Mapping) else [one]))


SourceFiles = Annotated[tuple[str, ...], Reads(as_source_files, null=True)]
PackageList = Annotated[tuple[PackageTarget, ...], Reads(as_package_list)]
"""Packages, each with a version or without; use it as `PackageList | None`."""


def version(
    context: Context,
    *names: str,
    versions_as_list: NotSupported = False,
    use_context: NoCache = True,
) -> Any:
    """The installed version, empty when there is none; for several names a dictionary."""
    have = _installed(context)
    return _single({name: have[name].version if name in have else "" for name in names}, names)


def latest_version(context: Context, *names: str, fromrepo: str = "", refresh: IsTrue = False, **options: Any) -> Any:
    """The version that an installation or upgrade would bring, empty when there is nothing newer."""
    manager = manager_of(context)
    _refresh(context, refresh)
    have = _installed(context)
    offered = manager.available(context.machine, names, fromrepo)
    versions = {}
    for name in names:
        candidate = offered[name].candidate if name in offered else ""
        known = have.get(name)
        newer = candidate and (known is None or manager.compare(known.version, candidate) < 0)
        versions[name] = candidate if newer else ""
    return _single(versions, names)


def upgrade_available(context: Context, name: str, **options: Any) -> bool:
    """Whether there is a newer version than the installed one."""
    return bool(latest_version(context, name))


def list_upgrades(
    context: Context, refresh: IsTrue = True, dist_upgrade: bool = True, **options: Any
) -> dict[str, str]:
    """Every package of which there is a newer version, with that version."""
    _refresh(context, refresh)
    steps = manager_of(context).predict_upgrade(context.machine, (), whole=dist_upgrade)
    return {one.name: one.new for one in steps if one.new}


def list_repo_pkgs(context: Context, *names: str, fromrepo: str = "", **options: Any) -> dict[str, list[str]]:
    """The versions that the repositories offer of these packages, newest first."""
    offered = manager_of(context).available(context.machine, names, fromrepo)
    return {name: list(one.versions) for name, one in offered.items()}


def version_cmp(context: Context, pkg1: str, pkg2: str, ignore_epoch: bool = False, **options: Any) -> int:
    """Order of two versions: -1, 0 or 1."""
    left, right = (one.partition(":")[2] or one if ignore_epoch else one for one in (pkg1, pkg2))
    return manager_of(context).compare(left, right)


def refresh_db(
    context: Context,
    cache_valid_time: NotSupported = 0,
    failhard: AlwaysDone = False,
    **options: Any,
) -> bool:
    """Fetch the lists of packages anew."""
    trouble = manager_of(context).refresh(context.machine, older_than=None)
    if trouble:
        raise CallFailed(trouble)
    return True


def install(
    context: Context, name: str | None = None, refresh: IsTrue = False, fromrepo: str = "",
    skip_verify: NotSupported = False, debconf: NotSupported = None, pkgs: PackageList | None = None,
    sources: SourceFiles = (), reinstall: NotSupported = False, downloadonly: bool = False,
    ignore_epoch: NotSupported = None, normalize: NotSupported = None, version: str | None = None,
    install_recommends: bool = True, hold: bool | None = None, only_upgrade: bool = False, **options: Any,
) -> Changes:  # fmt: skip
    """Install packages; what changed, by package."""
    manager, machine = manager_of(context), context.machine
    _refresh(context, refresh)
    if downloadonly:
        act(context, "pkg.downloaded", name or "", version=version, pkgs=pkgs, fromrepo=fromrepo or None)
        return {}
    before = list_pkgs(context)
    if sources:
        manager.install_files(machine, sources)
    else:
        targets = _targets(name, pkgs, version)
        if only_upgrade:
            targets = [one for one in targets if one.name in before]
        wanted = [one for one in targets if before.get(one.name) is None or _differs(manager, before, one)]
        if wanted:
            choice = InstallOptions(fromrepo=fromrepo or "", recommends=install_recommends is not False)
            manager.install(machine, wanted, choice)
        if hold is not None:
            manager.hold(machine, [one.name for one in targets], held=hold)
    return changes_between(before, list_pkgs(context))


def remove(context: Context, name: str | None = None, pkgs: PackageList | None = None, **options: Any) -> Changes:
    """Remove packages; what changed, by package."""
    return _remove(context, name, pkgs, purge=False)


def purge(context: Context, name: str | None = None, pkgs: PackageList | None = None, **options: Any) -> Changes:
    """Remove packages and their configuration; what changed, by package."""
    return _remove(context, name, pkgs, purge=True)


def upgrade(
    context: Context,
    refresh: IsTrue = True,
    dist_upgrade: bool = False,
    pkgs: PackageList | None = None,
    **options: Any,
) -> Changes:
    """Upgrade all packages, or these; with `dist_upgrade` others may come and go. What changed, by package."""
    _refresh(context, refresh)
    before = list_pkgs(context)
    names = [one.name for one in _targets(None, pkgs, None)] if pkgs else []
    manager_of(context).upgrade(context.machine, names, whole=dist_upgrade)
    return changes_between(before, list_pkgs(context))


def hold(
    context: Context,
    name: str | None = None,
    pkgs: PackageList | None = None,
    sources: NotSupported = None,
    **options: Any,
) -> dict[str, Any]:
    """Keep packages at their version."""
    return _hold(context, name, pkgs, held=True)


def unhold(
    context: Context,
    name: str | None = None,
    pkgs: PackageList | None = None,
    sources: NotSupported = None,
    **options: Any,
) -> dict[str, Any]:
    """Let packages go from their version again."""
    return _hold(context, name, pkgs, held=False)


def list_holds(context: Context) -> list[str]:
    """Packages that are kept at their version."""
    return sorted(name for name, one in manager_of(context).packages(context.machine).items() if one.held)


def _remove(context: Context, name: str | None, pkgs: PackageList | None, *, purge: bool) -> Changes:
    manager = manager_of(context)
    known = manager.packages(context.machine)
    wanted = [one.name for one in _targets(name, pkgs, None)]
    there = [one for one in wanted if one in known and (known[one].installed or purge)]
    before = list_pkgs(context)
    if there:
        manager.remove(context.machine, there, purge=purge)
    return changes_between(before, list_pkgs(context))


def _hold(context: Context, name: str | None, pkgs: PackageList | None, *, held: bool) -> dict[str, Any]:
    manager, words = manager_of(context), ("hold", "install") if held else ("install", "hold")
    known = manager.packages(context.machine)
    answer: dict[str, Any] = {}
    for one in [target.name for target in _targets(name, pkgs, None)]:
        said: dict[str, Any] = {"name": one, "changes": {}, "result": True}
        if one not in known:
            answer[one] = {**said, "result": False, "comment": f"Package {one} not in the list of packages."}
        elif known[one].held is held:
            word = "held" if held else "not to be held"
            answer[one] = {**said, "comment": f"Package {one} is already set {'to be held' if held else word}."}
        else:
            manager.hold(context.machine, [one], held=held)
            word = "now" if held else "no longer"
            shown = {"old": words[1], "new": words[0]}
            answer[one] = {**said, "changes": shown, "comment": f"Package {one} is {word} being held."}
    return answer


def _targets(name: str | None, pkgs: PackageList | None, version: str | None) -> list[PackageTarget]:
    """The packages that are meant: `pkgs` (names, or names with versions), else `name`, which may have commas."""
    if pkgs is None:
        names = [one for one in (name or "").split(",") if one]
        if not names:
            raise CallFailed("One of name and pkgs is required")
        return [PackageTarget(name=one, version=version or "" if len(names) == 1 else "") for one in names]
    return list(pkgs)


def _differs(manager: PackageManager, before: Mapping[str, str], target: PackageTarget) -> bool:
    if not target.version:
        return True  # the package manager knows whether there is a newer one
    return manager.compare(before[target.name], target.version) != 0


def _refresh(context: Context, refresh: bool) -> None:
    if refresh:
        refresh_db(context)


def _installed(context: Context) -> dict[str, Package]:
    packages = manager_of(context).packages(context.machine)
    return {name: package for name, package in packages.items() if package.installed}


def _single(values: dict[str, str], names: tuple[str, ...]) -> Any:
    """Salt's way: a plain value for a single name."""
    return values[names[0]] if len(names) == 1 else values


FUNCTIONS: Mapping[str, Any] = {
    **DEBIAN,
    "available_version": latest_version,
    "hold": hold,
    "install": install,
    "latest_version": latest_version,
    "list_holds": list_holds,
    "list_pkgs": list_pkgs,
    "list_repo_pkgs": list_repo_pkgs,
    "list_upgrades": list_upgrades,
    "purge": purge,
    "refresh_db": refresh_db,
    "remove": remove,
    "unhold": unhold,
    "upgrade": upgrade,
    "upgrade_available": upgrade_available,
    "version": version,
    "version_cmp": version_cmp,
}
