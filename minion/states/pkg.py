"""The pkg state: packages installed, at a version, on hold, up to date, or gone.

Called by the engine. What is to come of a transaction, dependencies included, is asked of the package manager's own
simulation, so that the plan shows what the act does. The work on the system is in `minion.system`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from minion.states.pkg_downloaded import downloaded
from minion.states.pkg_holds import hold_changes, hold_notes
from minion.states.pkg_steps import difference, shown, transaction, version_in, with_its_neighbour
from minion.states.pkg_upkeep import downloaded_sources, held, unheld, uptodate
from minion.states.pkg_wanted import Wanted, names_of, normal, unwanted_of, wanted_of
from minion.states.plan import Change, Machine, Plan, Reader, StateFailed, Value
from minion.system.packages import InstallOptions, Package, PackageManager, Step, Target, package_manager

_NONE_GIVEN = "No packages to install provided"
LISTS_MINUTES = 60
"""Lists of packages are fetched anew before an installation when they are older, unless `refresh` is False."""


def installed(
    machine: Reader,
    name: str,
    *,
    version: Value = None,
    pkgs: Value = None,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    hold: bool | None = None,
    update_holds: bool = False,
    allow_updates: bool = False,
    install_recommends: bool = True,
    only_upgrade: bool = False,
    skip_verify: bool = False,
    sources: Value = None,
    saltenv: str = "base",
    normalize: bool = True,
    ignore_epoch: bool | None = None,
    cache_valid_time: Value = None,
) -> Plan:
    """Packages are there, at the version asked for, on hold or not.

    `version` is a version, `latest`, a pattern (`1.2*`) or comparisons (`>=1.2,<2`); `pkgs` a list of names and of
    `{name: version}`. With `allow_updates` a newer version than the one asked for is right too. Epochs count as far
    as both versions have one, unless `ignore_epoch` says otherwise. `normalize` takes the machine's own architecture
    off the names, and `cache_valid_time` is how many seconds old the lists of packages may be.
    """
    manager = package_manager(machine)
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
        change_held=bool(update_holds),
        only_upgrade=bool(only_upgrade),
    )
    minutes = _minutes(refresh, cache_valid_time)
    request = _Request(manager=manager, wanted=tuple(missing), options=options, minutes=minutes)
    warnings = ("skip_verify is ignored: packages are installed only when apt can verify them",) if skip_verify else ()
    changes = [*_install_changes(machine, request, have), *hold_changes(manager, wanted, missing, have, hold)]
    if not changes:
        comment = "All specified packages are already installed"
        comment += " and are at the desired version" if any(one.version for one in wanted) else ""
        return Plan(comment=_sentences(comment, hold_notes(wanted, have, hold, "already")), warnings=warnings)
    there = [one for one in wanted if one not in missing]
    return Plan(
        changes=tuple(changes),
        pending=_installed_comment("would be", missing, there, have, hold),
        done=_installed_comment("were", missing, there, have, hold),
        warnings=warnings,
    )


def latest(
    machine: Reader,
    name: str,
    *,
    pkgs: Value = None,
    refresh: bool | None = None,
    fromrepo: str | None = None,
    update_holds: bool = False,
    install_recommends: bool = True,
    skip_verify: bool = False,
    cache_valid_time: Value = None,
) -> Plan:
    """Packages are there, at the newest version that the repositories offer.

    The lists of packages are fetched when they are older than an hour, under test too: what is newest cannot be told
    from old lists, and nothing that is installed changes by it.
    """
    manager = package_manager(machine)
    names = names_of(manager, name, pkgs)
    if not names:
        return Plan(comment=_NONE_GIVEN)
    trouble = _refresh(manager, machine, _minutes(refresh, cache_valid_time))
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
    options = InstallOptions(fromrepo=fromrepo or "", recommends=install_recommends, change_held=bool(update_holds))
    wanted = tuple(Wanted(name=one, version=offered[one].candidate) for one in old)
    request = _Request(manager=manager, wanted=wanted, options=options, minutes=None)
    listed = ", ".join(sorted(old))
    noted = ", ".join(f"{one} ({have[one].version})" for one in fresh)
    return Plan(
        changes=tuple(_install_changes(machine, request, have)),
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
    skip: Value = None,
    include: Value = None,
    refresh: bool | None = None,
    fromrepo: str | None = None,
) -> Plan:
    """All that a group of packages stands for is there, but for what `skip` names, and what `include` names besides."""
    manager = package_manager(machine)
    for option, value in (("skip", skip), ("include", include)):
        if value is not None and not isinstance(value, list):
            raise StateFailed(f"{option} must be formatted as a list")
    members = manager.groups(machine, name)
    if members is None:
        raise StateFailed(f"There is no group {name}, as far as this machine's package manager knows groups")
    left_out = {str(one) for one in skip or ()}
    names = [one for one in dict.fromkeys([*members, *map(str, include or ())]) if one not in left_out]
    plan = installed(machine, name, pkgs=names, refresh=refresh, fromrepo=fromrepo)
    if not plan.changes:
        return replace(plan, comment=f"Group '{name}' is already installed")
    have = manager.packages(machine)
    partly = any(one in have and have[one].installed for one in names)
    will = "is partially installed and will be updated" if partly else "will be installed"
    return replace(
        plan, pending=f"Group '{name}' {will}", done=f"Group '{name}' was {'updated' if partly else 'installed'}"
    )


def removed(
    machine: Reader,
    name: str,
    *,
    version: Value = None,
    pkgs: Value = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
) -> Plan:
    """Packages are gone, those of this version where one is given; their configuration may stay."""
    manager = package_manager(machine)
    wanted = unwanted_of(machine, manager, name, version, pkgs, normalize=normalize, ignore_epoch=ignore_epoch)
    names, have = [one.name for one in wanted], manager.packages(machine)
    there = _matching(manager, wanted, have)
    if not there:
        versions = any(one.version and version_in(have, one.name) for one in wanted)
        which = " (matching specified versions)" if versions else ""
        return Plan(comment=f"All specified packages{which} are already absent")
    steps = manager.predict_remove(machine, there, purge=False) or _gone(there, have)

    def act(machine: Machine) -> Mapping[str, Value]:
        before = manager.packages(machine)
        manager.remove(machine, there, purge=False)
        return shown(difference(before, manager.packages(machine)))

    return Plan(
        changes=transaction(steps, act),
        pending=f"The following packages will be removed: {', '.join(there)}.",
        done=_gone_comment("removed", names, there),
    )


def purged(
    machine: Reader,
    name: str,
    *,
    version: Value = None,
    pkgs: Value = None,
    normalize: bool = True,
    ignore_epoch: bool | None = None,
) -> Plan:
    """Packages are gone with their configuration; of those that are installed, the ones of this version."""
    manager = package_manager(machine)
    wanted = unwanted_of(machine, manager, name, version, pkgs, normalize=normalize, ignore_epoch=ignore_epoch)
    names, have = [one.name for one in wanted], manager.packages(machine)
    left_behind = [one for one in names if one in have and not have[one].installed]
    there = sorted([*_matching(manager, wanted, have), *left_behind])
    if not there:
        return Plan(comment="None of the targeted packages are installed or partially installed")
    steps = manager.predict_remove(machine, there, purge=True) or _gone(there, have)

    def act(machine: Machine) -> Mapping[str, Value]:
        before = manager.packages(machine)
        manager.remove(machine, there, purge=True)
        return _purge_shown(difference(before, manager.packages(machine)), before)

    # A package of which only configuration is left has no version in the simulation.
    whole = {step.name: step for step in (*_gone(there, have), *steps)}
    shown = _purge_shown([whole[one] for one in sorted(whole)], have)
    return Plan(
        changes=(
            Change(key="removed", shown=shown["removed"], act=act),
            Change(key="installed", shown=shown["installed"], act=with_its_neighbour),
        ),
        pending=f"The following packages will be purged: {', '.join(there)}.",
        done=_gone_comment("purged", names, there),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """An installation that is to be planned and done."""

    manager: PackageManager
    wanted: tuple[Wanted, ...]
    options: InstallOptions
    minutes: int | None
    """How old the lists of packages may be; None: as old as they are."""

    def targets(self, machine: Reader, *, strict: bool) -> list[Target]:
        """What to ask the package manager for; a version that is not to be had is an error when `strict`."""
        return [self._target(machine, one, strict) for one in self.wanted]

    def _target(self, machine: Reader, one: Wanted, strict: bool) -> Target:
        if not one.version:
            return Target(name=one.name)
        offered = self.manager.available(machine, [one.name], self.options.fromrepo).get(one.name)
        if one.version == "latest":
            # By its version: dnf is content with an older one that is there.
            return Target(name=one.name, version=offered.candidate if offered else "")
        fitting = [v for v in (offered.versions if offered else ()) if one.fits(self.manager, v)]
        if fitting or one.exact:
            return Target(name=one.name, version=fitting[0] if fitting else one.version)
        if strict:
            have = ", ".join(offered.versions) if offered else "none"
            raise StateFailed(f"No version of package {one.name} fits {one.version!r} (there is: {have})")
        return Target(name=one.name)


def _install_changes(machine: Reader, request: _Request, have: Mapping[str, Package]) -> tuple[Change, ...]:
    if not request.wanted:
        return ()
    manager = request.manager
    targets = request.targets(machine, strict=False)
    steps = manager.predict_install(machine, targets, request.options) or [
        Step(name=one.name, old=version_in(have, one.name), new=_foreseen(machine, request, one)) for one in targets
    ]

    def act(machine: Machine) -> Mapping[str, Value]:
        before = manager.packages(machine)
        trouble = _refresh(manager, machine, request.minutes)
        try:
            manager.install(machine, request.targets(machine, strict=True), request.options)
        except StateFailed as error:
            raise StateFailed("\n".join([str(error), *(f"    - {line}" for line in trouble)])) from error
        return shown(difference(before, manager.packages(machine)))

    return transaction(steps, act)


def _foreseen(machine: Reader, request: _Request, target: Target) -> str:
    """The version that there will be, as far as the lists tell; Salt's word when they do not know the package."""
    offered = request.manager.available(machine, [target.name], request.options.fromrepo).get(target.name)
    if offered is None or (target.version and target.version not in offered.versions):
        return "installed"
    return target.version or offered.candidate


def _is_there(machine: Reader, manager: PackageManager, have: Mapping[str, Package], one: Wanted) -> bool:
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


def _refresh(manager: PackageManager, machine: Reader, minutes: int | None) -> list[str]:
    """Fetch the lists when they are older; what went wrong."""
    return [] if minutes is None else manager.refresh(machine, older_than=minutes).splitlines()


def _minutes(refresh: bool | None, cache_valid_time: Value) -> int | None:
    """How old the lists of packages may be; None: as old as they are."""
    if refresh is False:
        return None
    if cache_valid_time is not None:
        if isinstance(cache_valid_time, bool) or not str(cache_valid_time).isdigit():
            raise StateFailed(f"cache_valid_time is {cache_valid_time!r}: it is a number of seconds")
        return max(1, int(cache_valid_time) // 60)
    # Asked for by name: anew, but not once more for the second plan of the same run.
    return 1 if refresh else LISTS_MINUTES


def _installed_comment(
    tense: str, missing: Sequence[Wanted], there: Sequence[Wanted], have: Mapping[str, Package], hold: bool | None
) -> str:
    if not missing:
        return _sentences("All specified packages are already installed", hold_notes(there, have, hold, tense))
    done = tense == "were"
    listed = ", ".join(sorted(one.label if done else one.name for one in missing))
    lines = [f"The following packages {tense} installed/updated: {listed}"]
    lines += hold_notes(missing, have, hold, tense)
    if there and done:
        lines.append(f"The following packages were already installed: {', '.join(sorted(one.label for one in there))}")
    if done or hold is not None:
        lines += hold_notes(there, have, hold, tense)
    return "\n".join(lines)


def _sentences(first: str, others: Sequence[str]) -> str:
    return "\n".join([f"{first}.", *others]) if others else first


def _all_fresh(names: Sequence[str]) -> str:
    return f"All packages are up-to-date ({', '.join(names)})."


def _gone_comment(verb: str, names: Sequence[str], there: Sequence[str]) -> str:
    absent = sorted(one for one in names if one not in there)
    if not absent:
        return f"All targeted packages were {verb}."
    return (
        f"The following packages were not installed: {', '.join(absent)} "
        f"The following packages were {verb}: {', '.join(there)}."
    )


def _matching(manager: PackageManager, wanted: Sequence[Wanted], have: Mapping[str, Package]) -> list[str]:
    """Those that are installed, at the version that is to go."""
    versions = {one.name: version_in(have, one.name) for one in wanted}
    return sorted(
        one.name for one in wanted if versions[one.name] and (not one.version or one.fits(manager, versions[one.name]))
    )


def _gone(names: Sequence[str], have: Mapping[str, Package]) -> list[Step]:
    return [Step(name=one, old=have[one].version, new="") for one in names]


def _purge_shown(steps: Sequence[Step], before: Mapping[str, Package]) -> dict[str, Value]:
    """Salt's two groups: what was installed, and what was removed already with files of it left."""
    leftover = [step for step in steps if step.name in before and not before[step.name].installed]
    return {
        "removed": shown(leftover),
        "installed": shown([step for step in steps if step not in leftover]),
    }


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
