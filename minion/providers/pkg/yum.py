"""The package manager of CentOS 7 and Amazon Linux 2: yum 3, which has no `repoquery` and other words for some things.

Called through the port `minion.providers.pkg.packages.PackageManager`. What rpm knows, predictions and installations
are dnf's (`minion.providers.pkg.dnf`): both show the same table of a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers import commands
from minion.providers.pkg.dnf import Dnf, locks_of, metadata_is_younger
from minion.providers.pkg.packages import Available, InstallOptions, PackageTarget
from minion.providers.pkg.rpmversion import compare
from minion.providers.pkg.transactions import offers


@dataclass(frozen=True, slots=True)
class Yum(Dnf):
    """`PackageManager` where yum is, and no dnf."""

    program: str = "yum"

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """What `yum list` says of these names; it fails when there is nothing of any of them."""
        for name in names:
            commands.check_name(name)
        if not names:
            return {}
        command = ["yum", "--quiet", "--cacheonly", *repository(fromrepo), "list", "--showduplicates"]
        asked = machine.query([*command, *names])
        if asked.returncode != 0 and "No matching Packages" not in asked.stderr:
            raise StateFailed(f"yum cannot tell what is available: {commands.complaint(asked)}")
        return parse_list(asked.stdout, names)

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """`yum makecache fast`, of what has not expired too when it must be new."""
        if older_than is not None and metadata_is_younger(machine, older_than):
            return ""
        if older_than is None:
            machine.query(["yum", "--quiet", "clean", "expire-cache"])
        done = machine.query(["yum", "--quiet", "--assumeyes", "makecache", "fast"])
        return "" if done.returncode == 0 else commands.complaint(done)

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """`yum versionlock add`, or `delete` of the lines that lock these."""
        for name in names:
            commands.check_name(name)
        what = list(names) if held else [line for name in names for line in locks_of(machine, name)]
        if what:
            doing = ("add", "holding") if held else ("delete", "unholding")
            commands.carry_out(machine, ["yum", "--quiet", "versionlock", doing[0], *what], doing[1])

    def _install(self, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        """There are no recommended packages, and an older version is a downgrade."""
        return [
            *repository(options.fromrepo),
            *(["--disableplugin=versionlock"] if options.change_held else []),
            "reinstall" if options.reinstall else "install",
            "--",
            *(f"{one.name}-{one.version}" if one.version else one.name for one in targets),
        ]

    def _upgrade(self, names: Sequence[str], whole: bool) -> list[str]:
        return [*(["--obsoletes"] if whole else []), "upgrade", *(["--", *names] if names else [])]


def repository(fromrepo: str) -> list[str]:
    """The options that leave one repository, or several, alone."""
    if not fromrepo:
        return []
    names = [commands.check_repository(name.strip()) for name in fromrepo.split(",")]
    return ["--disablerepo=*", *(f"--enablerepo={name}" for name in names)]


def parse_list(text: str, names: Sequence[str]) -> dict[str, Available]:
    """What can be had under these names; what is installed counts, since yum does not offer it a second time."""
    versions: dict[str, list[str]] = {}
    for full, version, _ in _rows(text):
        name = full.rpartition(".")[0]
        for asked in {name, full} & set(names):
            versions.setdefault(asked, []).append(version.removeprefix("0:"))
    return offers(versions, compare)


def _rows(text: str) -> Iterator[tuple[str, str, str]]:
    """Rows of three columns; one that is too long for its line goes on in the next."""
    waiting: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[-1] == "Packages":
            waiting = []
            continue
        waiting += words
        if len(waiting) >= 3:
            yield waiting[0], waiting[1], waiting[2]
            waiting = []
