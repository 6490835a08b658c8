"""The package manager of Fedora, RHEL and their derivatives: looks with rpm and `dnf repoquery`, acts with dnf.

Called through the port `minion.providers.pkg.packages.PackageManager`. Looking works on the metadata that is there
(`--cacheonly` where a plan asks), so that a plan neither waits for a mirror nor writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers import commands
from minion.providers.pkg import rpm
from minion.providers.pkg.packages import Available, InstallOptions, Package, PackageTarget, TransactionStep
from minion.providers.pkg.rpmversion import compare
from minion.providers.pkg.transactions import Transactions, offers

_QUERY = "%{name}\\t%{epoch}\\t%{version}\\t%{release}\\t%{arch}\\n"
_LOCKS = (
    "/etc/dnf/plugins/versionlock.list",
    "/etc/dnf/versionlock.toml",
    "/etc/yum/pluginconf.d/versionlock.list",
)
_METADATA = ("/var/cache/libdnf5", "/var/cache/dnf", "/var/cache/yum")
_SECTIONS = {
    "Installing": "new",
    "Upgrading": "new",
    "Updating": "new",
    "Downgrading": "new",
    "Reinstalling": "",
    "Removing": "gone",
    "Skipping": "",
}


@dataclass(frozen=True, slots=True)
class Dnf(Transactions):
    """`PackageManager` where dnf is; `program` is `dnf` or `dnf5`."""

    program: str = "dnf"

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """What rpm knows."""
        return rpm.packages(machine, _held(machine))

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """What `dnf repoquery` says of these names."""
        for name in names:
            commands.check_name(name)
        if not names:
            return {}
        command = [self.program, "--quiet", "--cacheonly", *_repository(fromrepo), "repoquery", "--available"]
        asked = machine.query([*command, "--queryformat", _QUERY, "--", *names])
        if asked.returncode != 0:
            raise StateFailed(f"{self.program} cannot tell what is available: {commands.complaint(asked)}")
        return parse_available(asked.stdout, names)

    def compare(self, left: str, right: str) -> int:
        """Rpm's order."""
        return compare(left, right)

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """`dnf makecache`."""
        if older_than is not None and metadata_is_younger(machine, older_than):
            return ""
        fresh = ["--setopt=*.metadata_expire=0"] if older_than is None else []
        done = machine.query([self.program, "--quiet", "--assumeyes", *fresh, "makecache"])
        return "" if done.returncode == 0 else commands.complaint(done)

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """`dnf versionlock add` or `delete`."""
        for name in names:
            commands.check_name(name)
        verb = "add" if held else "delete"
        commands.carry_out(
            machine, [self.program, "--quiet", "versionlock", verb, *names], "holding" if held else "unholding"
        )

    def groups(self, machine: Reader, name: str) -> Sequence[str] | None:
        """The packages of a group: mandatory and default ones."""
        commands.check_repository(name.replace(" ", "-"))
        asked = machine.query([self.program, "--quiet", "--cacheonly", "group", "info", "--", name])
        return parse_group(asked.stdout) if asked.returncode == 0 else None

    def _predicted(
        self, machine: Reader, command: Sequence[str], *, gone: bool = False
    ) -> list[TransactionStep] | None:
        shown = machine.query([self.program, "--assumeno", "--cacheonly", *command])
        # To be answered with no is a failure to dnf.
        return parse_transaction(shown.stdout, self.packages(machine)) if shown.returncode in (0, 1) else None

    def _carried_out(self, machine: Machine, command: Sequence[str], doing: str) -> None:
        commands.carry_out(machine, [self.program, "--assumeyes", *command], doing)

    def _files(self, paths: Sequence[str]) -> list[str]:
        return ["install", "--", *paths]

    def _install(self, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        return [
            *_repository(options.fromrepo),
            *([] if options.recommends else ["--setopt=install_weak_deps=False"]),
            *(["--disableplugin=versionlock"] if options.change_held else []),
            "reinstall" if options.reinstall else "install",
            "--",
            *(f"{one.name}-{one.version}" if one.version else one.name for one in targets),
        ]

    def _caches(self) -> Sequence[str]:
        return _METADATA

    def _remove(self, names: Sequence[str], purge: bool) -> list[str]:
        return ["remove", "--", *names]

    def _upgrade(self, names: Sequence[str], whole: bool) -> list[str]:
        return [*(["--allowerasing"] if whole else []), "upgrade", *(["--", *names] if names else [])]


def parse_available(text: str, names: Sequence[str]) -> dict[str, Available]:
    """What can be had under these names, from `repoquery` output in the format that `Dnf.available` asks for."""
    versions: dict[str, list[str]] = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 5:
            continue
        name, epoch, version, release, arch = fields
        for asked in {name, f"{name}.{arch}"} & set(names):
            versions.setdefault(asked, []).append(rpm.evr(epoch, version, release))
    return offers(versions, compare)


def parse_transaction(text: str, have: Mapping[str, Package]) -> list[TransactionStep]:
    """The steps in the table that dnf shows, sorted by name; `have` knows the versions of now."""
    steps: dict[str, TransactionStep] = {}
    kind = ""
    for words in _rows(text):
        section = _SECTIONS.get(words[0].rstrip(":")) if words[0][:1].isalpha() and words[-1].endswith(":") else None
        if section is not None:
            kind = section
        elif kind and len(words) >= 5:
            name = words[0] if words[0] in have or f"{words[0]}.{words[1]}" not in have else f"{words[0]}.{words[1]}"
            old = have[name].version if name in have else ""
            version = words[2].removeprefix("0:")
            steps[name] = TransactionStep(name=name, old=old, new=version if kind == "new" else "")
    return [steps[name] for name in sorted(steps)]


def _rows(text: str) -> Iterator[list[str]]:
    """The lines of the table as words; a name too long for its column stands on a line of its own."""
    waiting: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] == "Transaction":
            if words:
                return
            waiting = []
        elif line.startswith(" ") and len(words) == 1 and not line.startswith("  "):
            waiting = words
        else:
            yield [*waiting, *words]
            waiting = []


def parse_group(text: str) -> list[str]:
    """The mandatory and the default packages in `dnf group info` output."""
    found: list[str] = []
    wanted = False
    for line in text.splitlines():
        heading, colon, rest = line.strip().partition(":")
        if colon and heading.endswith("ackages"):
            wanted = heading.lower().startswith(("mandatory", "default"))
        if colon and rest and wanted:
            found.append(rest.strip())
        elif not colon and wanted and line.startswith(" "):
            found.append(heading.lstrip("+-="))  # yum's signs of what is installed
    return sorted(set(found))


def _repository(fromrepo: str) -> list[str]:
    if not fromrepo:
        return []
    return [f"--repo={commands.check_repository(name.strip())}" for name in fromrepo.split(",")]


def _held(machine: Reader) -> set[str]:
    texts = (machine.read(path).decode(errors="replace") for path in _LOCKS if machine.stat(path))
    return {name for text in texts for name in parse_locks(text)}


def parse_locks(text: str) -> set[str]:
    """The names of locked packages: `name-epoch:version-release.*` lines, or dnf5's TOML."""
    names = set(re.findall(r'^\s*name\s*=\s*"([^"]+)"', text, re.MULTILINE))
    for line in text.splitlines():
        match = re.fullmatch(r"(?:\d+:)?([A-Za-z0-9_].*?)-(?:\d+:)?[^-\s=]+-[^-\s=]+", line.strip())
        if match:
            names.add(match[1])
    return names


def locks_of(machine: Reader, name: str) -> list[str]:
    """The lines that lock a package."""
    texts = (machine.read(path).decode(errors="replace") for path in _LOCKS if machine.stat(path))
    return [line.strip() for text in texts for line in text.splitlines() if parse_locks(line) == {name}]


def metadata_is_younger(machine: Reader, minutes: int) -> bool:
    """Whether lists of packages were fetched within so many minutes."""
    for folder in _METADATA:
        if machine.stat(folder) is None:
            continue
        command = ["find", folder, "-name", "repomd.xml", "-mmin", f"-{minutes}", "-print", "-quit"]
        if machine.query(command).stdout.strip():
            return True
    return False
