"""What package managers that are commands have in common: a transaction is a command, its prediction the same one dry.

Base of the providers in `minion.providers` but apt, whose simulation tells more. A provider says how its commands read.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers import commands
from minion.providers.pkg import rpm
from minion.providers.pkg.packages import Available, InstallOptions, PackageTarget, TransactionStep


class Transactions(ABC):
    """The transactions of a `PackageManager`."""

    __slots__ = ()

    @abstractmethod
    def _predicted(
        self, machine: Reader, command: Sequence[str], *, gone: bool = False
    ) -> list[TransactionStep] | None:
        """What a command would do, asked of the program; None when it cannot be predicted."""

    @abstractmethod
    def _carried_out(self, machine: Machine, command: Sequence[str], doing: str) -> None:
        """Run a command; StateFailed with what it said."""

    @abstractmethod
    def _install(self, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        """The command that installs these, checked already."""

    @abstractmethod
    def _remove(self, names: Sequence[str], purge: bool) -> list[str]:
        """The command that removes these."""

    @abstractmethod
    def _upgrade(self, names: Sequence[str], whole: bool) -> list[str]:
        """The command that upgrades these, or all when there are none."""

    @abstractmethod
    def _files(self, paths: Sequence[str]) -> list[str]:
        """The command that installs package files."""

    def predict_install(
        self, machine: Reader, targets: Sequence[PackageTarget], options: InstallOptions
    ) -> Sequence[TransactionStep] | None:
        """All that an installation would change; None when it cannot be predicted."""
        return self._predicted(machine, self._install(self._checked(targets), options))

    def predict_remove(self, machine: Reader, names: Sequence[str], *, purge: bool) -> Sequence[TransactionStep] | None:
        """All that a removal would change; None when it cannot be predicted."""
        return self._predicted(machine, self._remove(self._names(names), purge), gone=True)

    def predict_upgrade(self, machine: Reader, names: Sequence[str], *, whole: bool) -> Sequence[TransactionStep]:
        """What an upgrade would change."""
        return self._predicted(machine, self._upgrade(self._names(names), whole)) or []

    def install(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """Install; StateFailed with what the program said."""
        self._carried_out(machine, self._install(self._checked(targets), options), "installing")

    def remove(self, machine: Machine, names: Sequence[str], *, purge: bool) -> None:
        """Remove; StateFailed with what the program said."""
        self._carried_out(machine, self._remove(self._names(names), purge), "removing")

    def upgrade(self, machine: Machine, names: Sequence[str], *, whole: bool) -> None:
        """Upgrade; StateFailed with what the program said."""
        self._carried_out(machine, self._upgrade(self._names(names), whole), "upgrading")

    def install_files(self, machine: Machine, paths: Sequence[str]) -> None:
        """Install package files; StateFailed with what the program said."""
        if any(not path.startswith("/") for path in paths):
            raise StateFailed("Package files need absolute paths")
        self._carried_out(machine, self._files(paths), "installing")

    def downloaded(self, machine: Reader) -> Mapping[str, Collection[str]]:
        """The package files below the program's cache."""
        folders = [folder for folder in self._caches() if machine.stat(folder)]
        if not self._caches():
            raise StateFailed("The pkg.downloaded state is not available on this platform")
        if not folders:
            return {}
        files = ["find", *folders, "-name", "*.rpm", "-exec", "rpm", "-qp", "--queryformat", rpm.FIELDS, "{}", "+"]
        found: dict[str, set[str]] = {}
        for one in rpm.parse_packages(machine.query(files).stdout):
            found.setdefault(one.name, set()).add(one.version)
        return found

    def download(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """Fetch package files; StateFailed with what the program said."""
        command = self._install(self._checked(targets), options)
        verb = command.index("install")
        self._carried_out(machine, [*command[: verb + 1], self._download, *command[verb + 1 :]], "downloading")

    _download = "--downloadonly"
    """The option of an installation that only fetches."""

    def _caches(self) -> Sequence[str]:
        """Where package files are kept; none: nobody can tell."""
        return ()

    def check_name(self, name: str) -> None:
        """StateFailed when this cannot be the name of a package."""
        commands.check_name(name)

    def check_version(self, name: str, version: str) -> None:
        """StateFailed when this cannot be a version of a package."""
        commands.check_version(name, version)

    def _names(self, names: Sequence[str]) -> Sequence[str]:
        for name in names:
            self.check_name(name)
        return names

    def _checked(self, targets: Sequence[PackageTarget]) -> Sequence[PackageTarget]:
        for target in targets:
            self.check_name(target.name)
            if target.version:
                self.check_version(target.name, target.version)
        return targets


def offers(versions: Mapping[str, Sequence[str]], compare: Callable[[str, str], int]) -> dict[str, Available]:
    """What can be had, from the versions found under each name."""
    newest = functools.cmp_to_key(compare)
    listed = {name: sorted(set(found), key=newest, reverse=True) for name, found in versions.items() if found}
    return {name: Available(candidate=found[0], versions=tuple(found)) for name, found in listed.items()}
