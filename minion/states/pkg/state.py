"""The pkg state: packages installed, at a version, on hold, up to date, or gone.

Called by the engine. What is to come of a transaction, dependencies included, is asked of the package manager's own
simulation, so that the plan shows what the act does. The work on the system is in `minion.providers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import Ignored, ListOfTexts, Unsupported
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Plan, Reader, Value
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.packages import InstallOptions, Package, PackageManager
from minion.states.pkg.downloaded import downloaded
from minion.states.pkg.holds import hold_changes, hold_notes
from minion.states.pkg.maintenance import downloaded_sources, held, unheld, uptodate
from minion.states.pkg.removed import purged, removed
from minion.states.pkg.request import InstallRequest, install_changes, refresh_lists
from minion.states.pkg.steps import version_in
from minion.states.pkg.wanted import PackageFiles, Packages, WantedPackages, names_of, normal, wanted_of

_NONE_GIVEN = "No packages to install provided"
LISTS_MINUTES = 60
"""Lists of packages are fetched anew before an installation when they are older, unless `refresh` is False."""


class _InstalledUnused(TypedDict, total=False):
    """Arguments of Salt's pkg.installed that are ignored or refused."""

    skip_suggestions: Annotated[Value, Ignored("no suggestions are looked up")]
    pkg_verify: Annotated[Value, Unsupported("manage the files with file.managed")]


def installed(
    machine: Reader,
    name: str,
    *,
    version: str | None = None,
    pkgs: Packages | None = None,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    hold: bool | None = None,
    update_holds: bool = False,
    allow_updates: bool = False,
    install_recommends: bool = True,
    only_upgrade: bool = False,
    skip_verify: bool = False,
    sources: PackageFiles | None = None,
    saltenv: str = "base",
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    cache_valid_time: int | None = None,
    reinstall: bool = False,
    **_: Unpack[_InstalledUnused],
) -> Plan:
    """Packages are there, at the version asked for, on hold or not.

    `version` is a version, `latest`, a pattern (`1.2*`) or comparisons (`>=1.2,<2`); `pkgs` a list of names and of
    `{name: version}`. With `allow_updates` a newer version than the one asked for is right too. Epochs count as far
    as both versions have one, unless `ignore_epoch` says otherwise. `normalize` takes the machine's own architecture
    off the names, and `cache_valid_time` is how many seconds old the lists of packages may be. With
    `reinstall` what is there is installed once more, on each run.
    """
    manager = package_manager(machine)
    if sources and reinstall:
        raise StateFailed("reinstall is for packages of the repositories, and these are sources")
    if sources:
        return downloaded_sources(machine, manager, sources, saltenv)
    wanted = wanted_of(manager, name, version, pkgs, allow_updates=allow_updates, ignore_epoch=ignore_epoch)
    if not wanted:
        return Plan(comment=_NONE_GIVEN)
    if normalize:
        wanted = normal(machine, wanted)
    have = manager.packages(machine)
    missing = [one for one in wanted if not _is_there(machine, manager, have, one)]
    options = InstallOptions(
        fromrepo=fromrepo or "",
        recommends=install_recommends,
        change_held=update_holds,
        only_upgrade=only_upgrade,
    )
    minutes = _minutes(refresh, cache_valid_time)
    request = InstallRequest(manager=manager, wanted=tuple(missing), options=options, minutes=minutes)
    again = _once_more(wanted, missing, have) if reinstall else ()
    anew = replace(request, wanted=again, options=replace(options, reinstall=True))
    warnings = ("skip_verify is ignored: packages are installed only when apt can verify them",) if skip_verify else ()
    changes = [*install_changes(machine, request, have), *install_changes(machine, anew, have)]
    changes += hold_changes(manager, wanted, missing, have, hold)
    if not changes:
        comment = "All specified packages are already installed"
        comment += " and are at the desired version" if any(one.version for one in wanted) else ""
        return Plan(comment=_sentences(comment, hold_notes(wanted, have, hold, "already")), warnings=warnings)
    return _with_known_failure(_installation(changes, wanted, missing, again, have, hold, warnings), request, machine)


def _with_known_failure(plan: Plan, request: InstallRequest, machine: Reader) -> Plan:
    """The plan, which under test=True says that the act is going to fail where that is known."""
    doomed = request.not_to_be_had(machine)
    return replace(plan, pending="\n".join(doomed), test_result=False) if doomed else plan


def _installation(
    changes: Sequence[Change],
    wanted: Sequence[WantedPackages],
    missing: Sequence[WantedPackages],
    again: Sequence[WantedPackages],
    have: Mapping[str, Package],
    hold: bool | None,
    warnings: tuple[str, ...],
) -> Plan:
    """The plan of pkg.installed where there is something to do."""
    names = {one.name for one in again}
    there = [one for one in wanted if one not in missing and one.name not in names]
    once_more = [one for one in wanted if one.name in names]
    return Plan(
        changes=tuple(changes),
        pending=_installed_comment("would be", missing, there, once_more, have, hold),
        done=_installed_comment("were", missing, there, once_more, have, hold),
        warnings=warnings,
        converges=not again,
    )


class _LatestUnused(TypedDict, total=False):
    """Arguments of Salt's pkg.latest that are ignored or refused."""

    watch_flags: Annotated[Value, Ignored("it is for Gentoo")]


def latest(
    machine: Reader,
    name: str,
    *,
    pkgs: Packages | None = None,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    update_holds: bool = False,
    install_recommends: bool = True,
    skip_verify: bool = False,
    cache_valid_time: int | None = None,
    **_: Unpack[_LatestUnused],
) -> Plan:
    """Packages are there, at the newest version that the repositories offer.

    The lists of packages are fetched when they are older than an hour, under test too: old lists do not say
    what is newest, and nothing that is installed changes by it.
    """
    manager = package_manager(machine)
    names = names_of(manager, name, pkgs)
    if not names:
        return Plan(comment=_NONE_GIVEN)
    trouble = refresh_lists(manager, machine, _minutes(refresh, cache_valid_time))
    have, offered = manager.packages(machine), manager.available(machine, names, fromrepo or "")
    unknown = [one for one in names if one not in offered]
    if unknown:
        raise StateFailed("\n".join([*(f"No information found for '{one}'." for one in unknown), *trouble]))
    old = [one for one in names if _is_older(manager, have.get(one), offered[one].candidate)]
    warnings = tuple(f"The lists of packages could not be fetched: {line}" for line in trouble)
    if skip_verify:
        warnings += ("skip_verify is ignored: packages are installed only when apt can verify them",)
    fresh = sorted(one for one in names if one not in old)
    if not old:
        comment = f"Package {name} is already up-to-date" if pkgs is None else _all_fresh(fresh)
        return Plan(comment=comment, warnings=warnings)
    options = InstallOptions(fromrepo=fromrepo or "", recommends=install_recommends, change_held=update_holds)
    wanted = tuple(WantedPackages(name=one, version=offered[one].candidate) for one in old)
    request = InstallRequest(manager=manager, wanted=wanted, options=options, minutes=None)
    listed = ", ".join(sorted(old))
    noted = ", ".join(f"{one} ({have[one].version})" for one in fresh)
    return Plan(
        changes=tuple(install_changes(machine, request, have)),
        pending=f"The following packages would be installed/upgraded: {listed}"
        + (f"\nThe following packages are already up-to-date: {noted}" if noted else ""),
        done=f"The following packages were successfully installed/upgraded: {listed}"
        + (f" The following packages were already up-to-date: {', '.join(fresh)}" if fresh else ""),
        warnings=warnings,
    )


def group_installed(
    machine: Reader,
    name: str,
    *,
    skip: ListOfTexts = (),
    include: ListOfTexts = (),
    refresh: bool | None = None,
    fromrepo: str | None = None,
) -> Plan:
    """All that a group of packages stands for is there, but for what `skip` names, and what `include` names besides."""
    manager = package_manager(machine)
    members = manager.groups(machine, name)
    if members is None:
        raise StateFailed(f"There is no group {name}, as far as this machine's package manager knows groups")
    names = [one for one in dict.fromkeys([*members, *include]) if one not in skip]
    plan = installed(machine, name, pkgs=tuple((one, None) for one in names), refresh=refresh, fromrepo=fromrepo)
    if not plan.changes:
        return replace(plan, comment=f"Group '{name}' is already installed")
    have = manager.packages(machine)
    partly = any(one in have and have[one].installed for one in names)
    will = "is partially installed and will be updated" if partly else "will be installed"
    return replace(
        plan, pending=f"Group '{name}' {will}", done=f"Group '{name}' was {'updated' if partly else 'installed'}"
    )


def _is_there(machine: Reader, manager: PackageManager, have: Mapping[str, Package], one: WantedPackages) -> bool:
    found = have.get(one.name)
    if found is not None and found.installed:
        if one.version == "latest":
            offered = manager.available(machine, [one.name]).get(one.name)
            return offered is None or not _is_older(manager, found, offered.candidate)
        return not one.version or one.fits(manager, found.version)
    if one.version or not any(one.name in package.provides for package in have.values() if package.installed):
        return False
    # The name of a virtual package; one that is a package of its own too was asked for as that.
    return one.name not in manager.available(machine, [one.name])


def _is_older(manager: PackageManager, found: Package | None, candidate: str) -> bool:
    return found is None or not found.installed or manager.compare(found.version, candidate) < 0


def _minutes(refresh: bool | None, cache_valid_time: int | None) -> int | None:
    """How old the lists of packages may be; None: as old as they are."""
    if refresh is False:
        return None
    if cache_valid_time is not None:
        return max(1, cache_valid_time // 60)
    # Asked for by name: anew, but not once more for the second plan of the same run.
    return 1 if refresh else LISTS_MINUTES


def _once_more(
    wanted: Sequence[WantedPackages], missing: Sequence[WantedPackages], have: Mapping[str, Package]
) -> tuple[WantedPackages, ...]:
    """Those that are there as they should be; one with a version keeps the one that it has."""
    there = [one for one in wanted if one not in missing and version_in(have, one.name)]
    return tuple(replace(one, version=version_in(have, one.name) if one.version else "") for one in there)


def _installed_comment(
    tense: str,
    missing: Sequence[WantedPackages],
    there: Sequence[WantedPackages],
    again: Sequence[WantedPackages],
    have: Mapping[str, Package],
    hold: bool | None,
) -> str:
    if not missing and not again:
        return _sentences("All specified packages are already installed", hold_notes(there, have, hold, tense))
    done = tense == "were"
    lines = []
    if missing:
        listed = ", ".join(sorted(one.label if done else one.name for one in missing))
        lines.append(f"The following packages {tense} installed/updated: {listed}")
    lines += hold_notes(missing, have, hold, tense)
    if there and done:
        lines.append(f"The following packages were already installed: {', '.join(sorted(one.label for one in there))}")
    if done or hold is not None:
        lines += hold_notes([*there, *again], have, hold, tense)
    if done:
        lines += [f"Package {one.label} was reinstalled." for one in again]
    elif again:
        lines.append(f"The following packages would be reinstalled: {', '.join(one.label for one in again)}")
    return "\n".join(lines)


def _sentences(first: str, others: Sequence[str]) -> str:
    return "\n".join([f"{first}.", *others]) if others else first


def _all_fresh(names: Sequence[str]) -> str:
    return f"All packages are up-to-date ({', '.join(names)})."


STATES = {
    "downloaded": downloaded,
    "group_installed": group_installed,
    "held": held,
    "installed": installed,
    "latest": latest,
    "purged": purged,
    "removed": removed,
    "unheld": unheld,
    "uptodate": uptodate,
}
