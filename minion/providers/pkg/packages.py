"""The port of package managers: what states and execution functions ask of one, and the types it answers with.

Providers are `apt`, `dnf`, `yum`, `zypper`, `apk`, `pacman` and `pkgng` in this package; `detection` chooses one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from minion.machine.plan import Machine, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that the machine knows, installed or with files of it left behind."""

    name: str
    """As it is asked for: with `:arch` only where it is not the machine's own architecture."""
    version: str
    installed: bool
    """False: removed, but its configuration files are still there."""
    held: bool = False
    provides: tuple[str, ...] = ()
    """Names of virtual packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """What the repositories offer under a name."""

    candidate: str
    """The version that an installation without a version takes."""
    versions: tuple[str, ...] = ()
    """Every version that can be had, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageTarget:
    """A package to be installed; an empty version means the candidate."""

    name: str
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStep:
    """A package whose version a transaction changes; an empty string stands for not installed."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """How an installation is done."""

    fromrepo: str = ""
    """The release that is preferred (`bookworm-backports`)."""
    recommends: bool = True
    change_held: bool = False
    """Whether packages on hold may be changed too."""
    only_upgrade: bool = False
    """Whether packages that are not there stay away (apt's alone)."""
    reinstall: bool = False
    """Whether packages that are there are installed once more."""


class PackageManager(Protocol):
    """What states need from a package manager. Names that it could take for something else are refused."""

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """Name -> what the machine has of it."""

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """Name -> what can be had; names of which nothing can be had are missing."""

    def compare(self, left: str, right: str) -> int:
        """Order of two versions: -1, 0 or 1."""

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """Fetch the lists of packages anew when they are older than so many minutes (None: in any case).

        Changes nothing of what is installed. Says what went wrong, or the empty string.
        """

    def predict_install(
        self, machine: Reader, targets: Sequence[PackageTarget], options: InstallOptions
    ) -> Sequence[TransactionStep] | None:
        """All that an installation would change, dependencies too; None when it cannot be predicted."""

    def predict_remove(self, machine: Reader, names: Sequence[str], *, purge: bool) -> Sequence[TransactionStep] | None:
        """All that a removal would change, dependents too; None when it cannot be predicted."""

    def install(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """Install; StateFailed with what the package manager said."""

    def remove(self, machine: Machine, names: Sequence[str], *, purge: bool) -> None:
        """Remove; with their configuration when `purge`."""

    def predict_upgrade(self, machine: Reader, names: Sequence[str], *, whole: bool) -> Sequence[TransactionStep]:
        """What an upgrade (of these alone, when there are names) would change; `whole`: others may come and go."""

    def upgrade(self, machine: Machine, names: Sequence[str], *, whole: bool) -> None:
        """Upgrade; StateFailed with what the package manager said."""

    def install_files(self, machine: Machine, paths: Sequence[str]) -> None:
        """Install package files, and what they depend on; StateFailed with what the package manager said."""

    def downloaded(self, machine: Reader) -> Mapping[str, Collection[str]]:
        """Name -> the versions whose files are in the cache; StateFailed where that cannot be found out."""

    def download(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """Fetch package files into the cache, and install nothing."""

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """Keep packages at their version, or let them go again."""

    def groups(self, machine: Reader, name: str) -> Sequence[str] | None:
        """The packages that a group stands for; None when there is no such group, or when there are no groups."""

    def check_name(self, name: str) -> None:
        """StateFailed when this cannot be the name of a package."""

    def check_version(self, name: str, version: str) -> None:
        """StateFailed when this cannot be a version of a package."""
