"""Which packages a pkg state asks for: its `name`, `version` and `pkgs` read into `WantedPackages`.

Called by `minion.states.pkg.state`. It checks what an author wrote, and looks at no machine.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from minion.arguments.types import Reads, Unfit
from minion.machine.plan import Reader, Value
from minion.providers.pkg.packages import PackageManager

_COMPARISON = re.compile(r"(>=|<=|==|!=|=|<<|>>|<|>)\s*(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPackages:
    """A package, and what its version shall be: nothing, a version, `latest`, a pattern or comparisons."""

    name: str
    version: str = ""
    newer_too: bool = False
    """Whether a newer version than an exact one will do."""
    ignore_epoch: bool | None = None
    """Whether epochs count; None: where both versions have one, and in `<` and `>`."""

    @property
    def exact(self) -> bool:
        """Whether the version is one version and no condition."""
        return bool(self.version) and self.version != "latest" and not re.search(r"[<>=*?\[!]", self.version)

    @property
    def label(self) -> str:
        """As Salt's comments name it."""
        return f"{self.name}={self.version}" if self.exact else f"{self.name}{self.version}"

    def fits(self, manager: PackageManager, version: str) -> bool:
        """Whether this version is what was asked for."""
        if self.exact:
            order = self._order(manager, "==", version, self.version)
            return order == 0 or (self.newer_too and order > 0)
        return all(self._fits_part(manager, version, part.strip()) for part in self.version.split(","))

    def _fits_part(self, manager: PackageManager, version: str, part: str) -> bool:
        comparison = _COMPARISON.fullmatch(part)
        if comparison is None:
            return fnmatch.fnmatchcase(version, part)
        sign, other = comparison[1], comparison[2].strip()
        order = self._order(manager, sign, version, other)
        return {
            ">=": order >= 0,
            "<=": order <= 0,
            ">": order > 0,
            ">>": order > 0,
            "<": order < 0,
            "<<": order < 0,
            "!=": order != 0,
        }.get(sign, order == 0)

    def _order(self, manager: PackageManager, sign: str, version: str, other: str) -> int:
        ignored = self.ignore_epoch
        if ignored is None:
            ignored = "<" not in sign and ">" not in sign and ":" not in other
        return (
            manager.compare(_without_epoch(version), _without_epoch(other))
            if ignored
            else manager.compare(version, other)
        )


def as_packages(value: Value) -> tuple[tuple[str, str | None], ...]:
    """`pkgs`: a list of names and of {name: version}, or a mapping; worded as Salt does."""
    if isinstance(value, Mapping) and value:
        return _versions(value)
    if not isinstance(value, list | tuple):
        raise Unfit("", "Invalidly formatted 'pkgs' parameter: a list is expected, and this is {value!r}")
    found: list[tuple[str, str | None]] = []
    for number, entry in enumerate(value, start=1):
        if isinstance(entry, Mapping) and entry:
            found += _versions(entry)
        elif isinstance(entry, str | int | float) and not isinstance(entry, bool):
            found.append((str(entry), None))
        else:
            shown = repr(entry).replace("{", "{{").replace("}", "}}")
            raise Unfit(
                "",
                f"Invalidly formatted 'pkgs' parameter: entry {number} is {shown}, where a name or "
                "{{name: version}} is expected",
            )
    return tuple(found)


def _versions(entry: Mapping[Value, Value]) -> tuple[tuple[str, str | None], ...]:
    return tuple((str(name), None if version is None else str(version)) for name, version in entry.items())


Packages = Annotated[tuple[tuple[str, str | None], ...], Reads(as_packages)]
"""Name and version of each package; use it as `Packages | None`."""


def as_package_files(value: Value) -> Mapping[str, str]:
    """`sources`: the file of each package, by name; worded as Salt does."""
    if not value:
        return {}
    if not isinstance(value, list) or not all(isinstance(one, Mapping) and one for one in value):
        raise Unfit("", "Invalidly formatted 'sources' parameter: a list of {{name: file}} is expected")
    return {str(name): str(path) for one in value for name, path in one.items()}


PackageFiles = Annotated[Mapping[str, str], Reads(as_package_files, null=True)]
"""A URL or path of each package's file, by the package's name."""


def wanted_of(
    manager: PackageManager,
    name: str,
    version: str | None,
    pkgs: Packages | None,
    *,
    allow_updates: bool,
    ignore_epoch: bool | None = None,
) -> tuple[WantedPackages, ...]:
    """The packages of `pkg.installed`, each name once; StateFailed about what cannot be a package or a version."""
    pairs = ((name, version),) if pkgs is None else pkgs
    chosen = {one: (given or "").strip() for one, given in pairs}
    for one, given in chosen.items():
        manager.check_name(one)
        _check_version(manager, one, given)
    return tuple(
        WantedPackages(name=one, version=given, newer_too=allow_updates, ignore_epoch=ignore_epoch)
        for one, given in chosen.items()
    )


def plain(name: str, architecture: Value) -> str:
    """The name without the machine's own architecture: it is written so in public trees, and listed without it."""
    for sign in (":", "."):
        if architecture and name.endswith(f"{sign}{architecture}"):
            return name.removesuffix(f"{sign}{architecture}")
    return name


def normal(machine: Reader, wanted: tuple[WantedPackages, ...]) -> tuple[WantedPackages, ...]:
    """The packages under their plain names."""
    return tuple(replace(one, name=plain(one.name, machine.grains.get("osarch"))) for one in wanted)


def unwanted_of(
    machine: Reader,
    manager: PackageManager,
    name: str,
    version: str | None,
    pkgs: Packages | None,
    *,
    normalize: bool,
    ignore_epoch: bool | None,
) -> tuple[WantedPackages, ...]:
    """The packages of `pkg.removed` and `purged`, with the version that is to go, where one is given."""
    unwanted = wanted_of(manager, name, version, pkgs, allow_updates=False, ignore_epoch=ignore_epoch)
    return normal(machine, unwanted) if normalize else unwanted


def names_of(manager: PackageManager, name: str, pkgs: Packages | None) -> list[str]:
    """The packages of the other states, where versions do not matter."""
    return [one.name for one in wanted_of(manager, name, None, pkgs, allow_updates=False)]


def _check_version(manager: PackageManager, name: str, version: str) -> None:
    if not version or version == "latest":
        return
    for part in version.split(","):
        comparison = _COMPARISON.fullmatch(part.strip())
        text = comparison[2] if comparison else re.sub(r"[*?\[\]!]", "", part.strip()) or "0"
        manager.check_version(name, text.strip())


def _without_epoch(version: str) -> str:
    epoch, colon, rest = version.partition(":")
    return rest if colon and epoch.isdigit() else version
