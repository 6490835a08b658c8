"""pkg.uptodate, held, unheld, and package files that come from elsewhere than a repository.

Registered and called by `minion.states.pkg.state`.
"""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict, Unpack

from highstate.salt_urls import split_salt_url
from minion.arguments.types import Reads, only_bool
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, Value
from minion.providers.pkg.detection import package_manager
from minion.providers.pkg.packages import PackageManager, TransactionStep
from minion.states.pkg.steps import difference, shown, transaction, version_in
from minion.states.pkg.wanted import Packages, names_of
from minion.states.unused_arguments import PackageHold

LISTS_MINUTES = 60
_Refresh = Annotated[bool, Reads(only_bool("{name} must be either True or False"), null=True)]


def uptodate(
    machine: Reader, name: str, *, refresh: _Refresh = False, pkgs: Packages | None = None, dist_upgrade: bool = False
) -> Plan:
    """Nothing that is installed (of `pkgs`) could be upgraded. With `dist_upgrade` others may come or go for it."""
    manager = package_manager(machine)
    names = names_of(manager, name, pkgs) if pkgs is not None else []
    if pkgs is not None and not names:
        return Plan(comment="System is already up-to-date")
    if refresh:
        trouble = manager.refresh(machine, older_than=1)
        if trouble:
            raise StateFailed(trouble)
    steps = manager.predict_upgrade(machine, names, whole=dist_upgrade)
    if not steps:
        return Plan(comment="System is already up-to-date")

    def act(machine: Machine) -> Mapping[str, Value]:
        before = manager.packages(machine)
        manager.upgrade(machine, names, whole=dist_upgrade)
        return shown(difference(before, manager.packages(machine)))

    return Plan(
        changes=transaction(steps, act), pending="System update will be performed", done="Upgrade ran successfully"
    )


class _HeldUnused(TypedDict, total=False):
    """Arguments of Salt's pkg.held that are ignored or refused."""

    version: PackageHold


def held(
    machine: Reader, name: str, *, pkgs: Packages | None = None, replace: bool = False, **_: Unpack[_HeldUnused]
) -> Plan:
    """Packages stay at their version; with `replace` no others do."""
    manager = package_manager(machine)
    names = names_of(manager, name, pkgs)
    if not names:
        return Plan(comment="No packages to be held provided")
    have = manager.packages(machine)
    to_hold = [one for one in names if not (one in have and have[one].held)]
    to_free = [one for one in have if have[one].held and one not in names] if replace else []
    return _holds(manager, to_hold, to_free)


class _UnheldUnused(TypedDict, total=False):
    """Arguments of Salt's pkg.unheld that are ignored or refused."""

    version: PackageHold


def unheld(
    machine: Reader,
    name: str,
    *,
    pkgs: Packages | None = None,
    all: bool = False,  # noqa: A002  (Salt's name)
    **_: Unpack[_UnheldUnused],
) -> Plan:
    """Packages, or all that are held, may change their version again."""
    manager = package_manager(machine)
    have = manager.packages(machine)
    if pkgs == () and not all:
        return Plan(comment="No packages to be unheld provided")
    names = list(have) if all else names_of(manager, name, pkgs)
    return _holds(manager, [], [one for one in names if one in have and have[one].held])


def downloaded_sources(machine: Reader, manager: PackageManager, sources: Mapping[str, str], saltenv: str) -> Plan:
    """pkg.installed with `sources`: packages by name, each with the file that it is installed from."""
    _check_files(manager, sources)
    have = manager.packages(machine)
    missing = {name: path for name, path in sources.items() if not version_in(have, name)}
    if not missing:
        return Plan(comment="All specified packages are already installed")

    def act(machine: Machine) -> Mapping[str, Value]:
        folder = f"/tmp/.saltern-packages-{secrets.token_hex(8)}"  # noqa: S108  (a name not to guess)
        before = manager.packages(machine)
        machine.mkdir(folder, mode="0755")  # readable to apt's own user
        try:
            files = [_fetched(machine, folder, path, saltenv) for path in missing.values()]
            manager.install_files(machine, files)
        finally:
            machine.remove(folder)
        after = manager.packages(machine)
        wrong = [name for name in missing if not version_in(after, name)]
        if wrong:
            raise StateFailed(
                f"The files installed did not bring: {', '.join(wrong)}", shown(difference(before, after))
            )
        return shown(difference(before, after))

    listed = ", ".join(sorted(missing))
    return Plan(
        changes=transaction([TransactionStep(name=name, old="", new="installed") for name in missing], act),
        pending=f"The following packages would be installed/updated: {listed}",
        done=f"The following packages were installed/updated: {listed}",
    )


def _fetched(machine: Machine, folder: str, path: str, saltenv: str) -> str:
    """A file that the package manager can read."""
    if path.startswith("/"):
        return path
    data: bytes | None
    if path.startswith("salt://"):
        place, env = split_salt_url(path, saltenv)
        try:
            data = machine.source(place, env)
        except FileNotFoundError:
            data = None
    else:
        data = machine.fetch(path)
    if data is None:
        raise StateFailed(f"The package file {path} is not there")
    target = posixpath.join(folder, posixpath.basename(path.partition("?")[0]) or "package")
    machine.write(target, data, mode="0644")
    return target


def _check_files(manager: PackageManager, files: Mapping[str, str]) -> None:
    for name, path in files.items():
        manager.check_name(name)
        if not path.startswith(("/", "salt://", "http://", "https://", "ftp://")):
            raise StateFailed(f"The file of package {name} must be a path, salt:// or a URL, not {path!r}")


def _holds(manager: PackageManager, to_hold: Sequence[str], to_free: Sequence[str]) -> Plan:
    def change(name: str, hold: bool) -> Change:
        words = ("install", "hold") if hold else ("hold", "install")
        return Change(
            key=name, old=words[0], new=words[1], act=lambda machine: manager.hold(machine, [name], held=hold)
        )

    changes = [change(name, True) for name in to_hold] + [change(name, False) for name in to_free]
    if not changes:
        return Plan(comment="No changes made")
    would = [f"The following package would be held: {name}" for name in to_hold]
    would += [f"The following package would be unheld: {name}" for name in to_free]
    did = [f"Package {name} is now being held" for name in to_hold]
    did += [f"Package {name} is no longer held" for name in to_free]
    return Plan(changes=tuple(changes), pending="\n".join(would), done="\n".join(did))
