"""The package manager of SUSE: looks with rpm and zypper's XML, acts with zypper.

Called through the port `minion.providers.pkg.packages.PackageManager`. Looking never refreshes (`--no-refresh`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers import commands
from minion.providers.pkg import rpm
from minion.providers.pkg.packages import Available, InstallOptions, Package, PackageTarget, TransactionStep
from minion.providers.pkg.rpmversion import compare
from minion.providers.pkg.transactions import Transactions, offers

_ZYPPER = ("zypper", "--non-interactive", "--no-refresh")
_FINE = (0, 100, 101, 102, 103, 106, 107)
"""Done; the others say besides that updates are there, that a reboot or restart is due, that a repository was left
out, or that a script of a package failed."""
_LOCKS = "/etc/zypp/locks"
_SECTIONS = {
    "to-install": "new",
    "to-upgrade": "new",
    "to-downgrade": "new",
    "to-upgrade-change-arch": "new",
    "to-remove": "gone",
}


@dataclass(frozen=True, slots=True)
class Zypper(Transactions):
    """`PackageManager` of SUSE Linux Enterprise and openSUSE."""

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """What rpm knows."""
        locks = machine.read(_LOCKS).decode(errors="replace") if machine.stat(_LOCKS) else ""
        return rpm.packages(machine, parse_locks(locks))

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """What `zypper search` says of these names."""
        for name in names:
            commands.check_name(name)
        if not names:
            return {}
        repository = [f"--repo={commands.check_repository(fromrepo)}"] if fromrepo else []
        search = ["search", "--details", "--type=package", "--match-exact", *repository, "--", *names]
        asked = machine.query([*_ZYPPER, "--xmlout", *search])
        # 104: nothing of that name
        if asked.returncode not in (*_FINE, 104):
            raise StateFailed(f"zypper cannot tell what is available: {commands.complaint(asked)}")
        return parse_available(asked.stdout)

    def compare(self, left: str, right: str) -> int:
        """Rpm's order."""
        return compare(left, right)

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """`zypper refresh`."""
        if older_than is not None and _lists_are_younger(machine, older_than):
            return ""
        force = ["--force"] if older_than is None else []
        done = machine.query(["zypper", "--non-interactive", "--gpg-auto-import-keys", "refresh", *force])
        return "" if done.returncode in _FINE else commands.complaint(done)

    def install(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """`zypper install`; locks of packages that may be changed though they are held are lifted for it."""
        held = [one.name for one in targets if options.change_held and self.packages(machine).get(one.name, _NONE).held]
        if held:
            self.hold(machine, held, held=False)
        try:
            Transactions.install(self, machine, targets, options)
        finally:
            if held:
                self.hold(machine, held, held=True)

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """`zypper addlock` or `removelock`."""
        for name in names:
            commands.check_name(name)
        verb = "addlock" if held else "removelock"
        commands.carry_out(machine, [*_ZYPPER, verb, "--", *names], "holding" if held else "unholding", fine=_FINE)

    def groups(self, machine: Reader, name: str) -> Sequence[str] | None:
        """The packages of a pattern."""
        commands.check_name(name)
        asked = machine.query([*_ZYPPER, "info", "--requires", "-t", "pattern", "--", name])
        return parse_pattern(asked.stdout) if asked.returncode in _FINE else None

    def _predicted(
        self, machine: Reader, command: Sequence[str], *, gone: bool = False
    ) -> list[TransactionStep] | None:
        verb, *rest = command
        shown = machine.query([*_ZYPPER, "--xmlout", verb, "--dry-run", *rest])
        return parse_summary(shown.stdout) if shown.returncode in _FINE else None

    def _carried_out(self, machine: Machine, command: Sequence[str], doing: str) -> None:
        commands.carry_out(machine, [*_ZYPPER, *command], doing, fine=_FINE)

    def _files(self, paths: Sequence[str]) -> list[str]:
        return ["install", "--auto-agree-with-licenses", "--allow-unsigned-rpm", "--", *paths]

    def _install(self, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        return [
            "install",
            "--auto-agree-with-licenses",
            *(["--from", commands.check_repository(options.fromrepo)] if options.fromrepo else []),
            *([] if options.recommends else ["--no-recommends"]),
            *(["--force"] if options.reinstall else []),
            *(["--oldpackage"] if any(target.version for target in targets) else []),
            "--name",
            "--",
            *(f"{one.name}={one.version}" if one.version else one.name for one in targets),
        ]

    _download = "--download-only"

    def _caches(self) -> Sequence[str]:
        return ("/var/cache/zypp/packages",)

    def _remove(self, names: Sequence[str], purge: bool) -> list[str]:
        return ["remove", "--", *names]

    def _upgrade(self, names: Sequence[str], whole: bool) -> list[str]:
        verb = "dist-upgrade" if whole and not names else "update"
        return [verb, "--auto-agree-with-licenses", *(["--", *names] if names else [])]


_NONE = Package(name="", version="", installed=False)


def parse_available(text: str) -> dict[str, Available]:
    """What can be had, from `zypper --xmlout search --details`; what only the machine itself has is left out."""
    versions: dict[str, list[str]] = {}
    for one in _elements(text, "solvable"):
        if one.get("repository") not in (None, "(System Packages)") and one.get("arch") != "src":
            versions.setdefault(one.get("name", ""), []).append(one.get("edition", ""))
    return offers(versions, compare)


def parse_summary(text: str) -> list[TransactionStep]:
    """The steps in the summary of a dry run, sorted by name."""
    steps: dict[str, TransactionStep] = {}
    for section, kind in _SECTIONS.items():
        for group in _elements(text, section):
            for one in group.iter("solvable"):
                if one.get("type", "package") != "package":
                    continue
                name, edition = one.get("name", ""), one.get("edition", "")
                old = edition if kind == "gone" else one.get("edition-old", "")
                steps[name] = TransactionStep(name=name, old=old, new="" if kind == "gone" else edition)
    return [steps[name] for name in sorted(steps)]


def parse_locks(text: str) -> set[str]:
    """The names of locked packages in /etc/zypp/locks."""
    return set(re.findall(r"^solvable_name:\s*(\S+)", text, re.MULTILINE))


def parse_pattern(text: str) -> list[str]:
    """The packages that a pattern requires, in `zypper info --requires -t pattern`."""
    rows = (line.split("|") for line in text.splitlines() if line.count("|") >= 2)
    return sorted({row[1].strip() for row in rows if row[2].strip() == "package"})


def _elements(text: str, tag: str) -> list[ElementTree.Element]:
    # Messages stand before and after the document.
    begin, end = text.find("<stream"), text.rfind("</stream>")
    if begin < 0 or end < 0:
        return []
    try:
        return list(ElementTree.fromstring(text[begin : end + len("</stream>")]).iter(tag))  # noqa: S314  (zypper's own)
    except ElementTree.ParseError:
        return []


def _lists_are_younger(machine: Reader, minutes: int) -> bool:
    folder = "/var/cache/zypp/solv"
    if machine.stat(folder) is None:
        return False
    command = ["find", folder, "-name", "cookie", "-mmin", f"-{minutes}", "-print", "-quit"]
    return bool(machine.query(command).stdout.strip())
