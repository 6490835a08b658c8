"""Arch's package manager: looks with `pacman -Q` and `-Si`, acts with `pacman -S` and `-R`.

Called through the port `minion.providers.pkg.packages.PackageManager`. Arch has one version of a package at a time, and
does without partial upgrades; another version than the one that is offered cannot be asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers import commands
from minion.providers.pkg.packages import Available, InstallOptions, Package, PackageTarget, TransactionStep
from minion.providers.pkg.rpmversion import compare_pacman
from minion.providers.pkg.transactions import Transactions

_SETTINGS = "/etc/pacman.conf"
_ACT = ("pacman", "--noprogressbar", "--noconfirm")
_LOOK = ("--print", "--print-format", "%n %v")


@dataclass(frozen=True, slots=True)
class Pacman(Transactions):
    """`PackageManager` of Arch and its derivatives."""

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """What `pacman -Q` lists; those that pacman.conf has it ignore are held."""
        settings = machine.read(_SETTINGS).decode(errors="replace") if machine.stat(_SETTINGS) else ""
        ignored = parse_ignored(settings)
        asked = machine.query(["pacman", "-Q"])
        if asked.stderr.strip():  # without a package at all it fails and says nothing
            raise StateFailed(f"pacman cannot list the packages: {commands.complaint(asked)}")
        return {
            name: Package(name=name, version=version, installed=True, held=name in ignored)
            for name, version in parse_list(asked.stdout).items()
        }

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """What `pacman -Si` says of these names; it fails, and tells of the others, when one is not there."""
        for name in names:
            commands.check_name(name)
        repository = f"{commands.check_repository(fromrepo)}/" if fromrepo else ""
        if not names:
            return {}
        asked = machine.query(["pacman", "-Si", "--", *(f"{repository}{name}" for name in names)])
        return {
            name: Available(candidate=version, versions=(version,))
            for name, version in parse_info(asked.stdout).items()
        }

    def compare(self, left: str, right: str) -> int:
        """Pacman's order."""
        return compare_pacman(left, right)

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """`pacman -Sy`."""
        if older_than is not None and _lists_are_younger(machine, older_than):
            return ""
        done = machine.query([*_ACT, "-Sy" if older_than is not None else "-Syy"])
        return "" if done.returncode == 0 else commands.complaint(done)

    def install(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """`pacman -S`."""
        offered = self.available(machine, [one.name for one in targets if one.version], options.fromrepo)
        for one in targets:
            if one.version and (one.name not in offered or offered[one.name].candidate != one.version):
                there = offered[one.name].candidate if one.name in offered else "none"
                raise StateFailed(
                    commands.problem("installing", f"version {one.version} of {one.name} is not offered ({there} is)")
                )
        Transactions.install(self, machine, targets, options)

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """By `IgnorePkg` in pacman.conf: pacman has no command for it."""
        for name in names:
            commands.check_name(name)
        if machine.stat(_SETTINGS) is None:
            raise StateFailed(f"There is no {_SETTINGS} that could say which packages are held")
        text = machine.read(_SETTINGS).decode("utf-8", "surrogateescape")
        machine.write(_SETTINGS, with_ignored(text, names, held=held).encode("utf-8", "surrogateescape"))

    def groups(self, machine: Reader, name: str) -> Sequence[str] | None:
        """The members of a group."""
        commands.check_name(name)
        asked = machine.query(["pacman", "-Sgq", "--", name])
        return sorted(asked.stdout.split()) if asked.returncode == 0 and asked.stdout.strip() else None

    def _predicted(
        self, machine: Reader, command: Sequence[str], *, gone: bool = False
    ) -> list[TransactionStep] | None:
        shown = machine.query(["pacman", *command[:1], *_LOOK, *command[1:]])
        if shown.returncode != 0:
            return None
        have = self.packages(machine)
        steps = [
            TransactionStep(name=name, old=have[name].version if name in have else "", new="" if gone else version)
            for name, version in parse_list(shown.stdout).items()
        ]
        return sorted((step for step in steps if step.old != step.new), key=lambda step: step.name)

    def _carried_out(self, machine: Machine, command: Sequence[str], doing: str) -> None:
        commands.carry_out(machine, [*_ACT, *command], doing)

    def _files(self, paths: Sequence[str]) -> list[str]:
        return ["-U", "--", *paths]

    def _install(self, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        repository = f"{commands.check_repository(options.fromrepo)}/" if options.fromrepo else ""
        needed = [] if options.reinstall else ["--needed"]
        return ["-S", *needed, "--", *(f"{repository}{target.name}" for target in targets)]

    def _remove(self, names: Sequence[str], purge: bool) -> list[str]:
        return ["-Rsn" if purge else "-R", "--", *names]

    def _upgrade(self, names: Sequence[str], whole: bool) -> list[str]:
        return ["-S", "--needed", "--", *names] if names else ["-Su"]


def parse_list(text: str) -> dict[str, str]:
    """Names and versions, one package a line."""
    rows = (line.split() for line in text.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


def parse_info(text: str) -> dict[str, str]:
    """Names and versions in `pacman -Si` output; of several repositories the first counts."""
    found: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^(Name|Version)\s*: (\S+)$", paragraph, re.MULTILINE))
        if len(fields) == 2:
            found.setdefault(fields["Name"], fields["Version"])
    return found


def parse_ignored(text: str) -> set[str]:
    """The packages that pacman.conf has pacman ignore."""
    lines = re.findall(r"^\s*IgnorePkg\s*=\s*(.*)$", text, re.MULTILINE)
    return {name for line in lines for name in line.split()}


def with_ignored(text: str, names: Sequence[str], *, held: bool) -> str:
    """The settings with these packages ignored, or ignored no more; one line has what is added."""
    lines, left = [], list(names) if held else []
    for line in text.splitlines():
        match = re.match(r"^(\s*IgnorePkg\s*=\s*)(.*)$", line)
        if match is None:
            lines.append(line)
            continue
        kept = [*(one for one in match[2].split() if one not in names), *left]
        left = []
        if kept:
            lines.append(f"{match[1]}{' '.join(kept)}")
    if left:
        if "[options]" not in lines:
            lines.append("[options]")
        lines.insert(lines.index("[options]") + 1, f"IgnorePkg = {' '.join(left)}")
    return "".join(f"{line}\n" for line in lines)


def _lists_are_younger(machine: Reader, minutes: int) -> bool:
    folder = "/var/lib/pacman/sync"
    if machine.stat(folder) is None:
        return False
    command = ["find", folder, "-name", "*.db", "-mmin", f"-{minutes}", "-print", "-quit"]
    return bool(machine.query(command).stdout.strip())
