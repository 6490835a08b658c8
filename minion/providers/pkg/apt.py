"""Debian's package manager: looks with dpkg-query, apt-cache and `apt-get --simulate`, acts with apt-get and apt-mark.

Called through the port `minion.providers.pkg.packages.PackageManager`. Nothing that a tree says reaches apt-get
unchecked: it would take `name-` for a removal and a name that it does not know for a regular expression.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.commands import problem
from minion.providers.pkg import debversion
from minion.providers.pkg.packages import Available, InstallOptions, Package, PackageTarget, TransactionStep

LOCK_SECONDS = 300
"""How long another apt or dpkg is waited for."""

_LOCK_PAUSE = 1.0
_LOCKED = re.compile(r"Could not get lock \S+|dpkg \w+ lock was locked by another process")
"""Locks for which apt does not wait itself (DPkg::Lock::Timeout is for that of dpkg's frontend alone)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*[A-Za-z0-9.+](?::[a-z0-9][a-z0-9-]*)?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+:~-]*")
_RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9./+~=-]*")
_SIMULATED = re.compile(
    r"^(?P<verb>Inst|Remv|Purg) (?P<name>\S+)(?: \[(?P<old>[^\]]*)\])?(?: \((?P<new>\S+)[^)]*\))?", re.MULTILINE
)
_ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "APT_LISTCHANGES_FRONTEND": "none",
    "APT_LISTBUGS_FRONTEND": "none",
    "UCF_FORCE_CONFFOLD": "1",
    "LC_ALL": "C.UTF-8",
}
_OPTIONS = (
    "-q",
    "-y",
    "-o",
    "Dpkg::Options::=--force-confdef",
    "-o",
    "Dpkg::Options::=--force-confold",
    "-o",
    f"DPkg::Lock::Timeout={LOCK_SECONDS}",
    "-o",
    "Dpkg::Use-Pty=0",
)
_QUERY_FORMAT = "${Package}\t${Architecture}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\t${Provides}\n"


@dataclass(frozen=True, slots=True)
class Apt:
    """`PackageManager` of Debian, Ubuntu and their derivatives."""

    lock_seconds: float = LOCK_SECONDS

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """What dpkg knows."""
        asked = machine.query(["dpkg-query", "-W", "-f", _QUERY_FORMAT], env=_ENVIRONMENT)
        if asked.returncode != 0:
            raise StateFailed(f"dpkg-query cannot list the packages: {asked.stderr.strip()}")
        return parse_packages(asked.stdout)

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """What `apt-cache policy` says of these names."""
        for name in names:
            self.check_name(name)
        if not names:
            return {}
        release = ["-t", _release(fromrepo)] if fromrepo else []
        asked = machine.query(["apt-cache", *release, "policy", "--", *names], env=_ENVIRONMENT)
        if asked.returncode != 0:
            raise StateFailed(f"apt-cache cannot tell what is available: {_errors(asked)}")
        found = parse_policy(asked.stdout)
        # Apt leaves the machine's own architecture out of the names that it prints.
        printed = {name: name if name in found else name.rpartition(":")[0] for name in names}
        return {name: found[shown] for name, shown in printed.items() if shown in found}

    def compare(self, left: str, right: str) -> int:
        """Debian's order."""
        return debversion.compare(left, right)

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """`apt-get update`."""
        if older_than is not None and _lists_are_younger(machine, older_than):
            return ""
        done = self._patiently(machine.query, ["apt-get", *_OPTIONS, "update"])
        return "" if done.returncode == 0 else _errors(done)

    def predict_install(
        self, machine: Reader, targets: Sequence[PackageTarget], options: InstallOptions
    ) -> Sequence[TransactionStep] | None:
        """What `apt-get --simulate install` says; nothing when one of them cannot be had."""
        if self._missing(machine, targets, options):
            return None
        simulated = machine.query(self._install_command(targets, options, simulate=True), env=_ENVIRONMENT)
        return parse_simulation(simulated.stdout) if simulated.returncode == 0 else None

    def predict_remove(self, machine: Reader, names: Sequence[str], *, purge: bool) -> Sequence[TransactionStep] | None:
        """What `apt-get --simulate remove` says."""
        simulated = machine.query(self._remove_command(names, purge=purge, simulate=True), env=_ENVIRONMENT)
        return parse_simulation(simulated.stdout) if simulated.returncode == 0 else None

    def install(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """`apt-get install`, after a look whether each of them can be had under its very name."""
        errors = self._missing(machine, targets, options)
        if errors:
            raise StateFailed(problem("installing", "\n".join(errors)))
        done = self._patiently(machine.run, self._install_command(targets, options, simulate=False))
        if done.returncode != 0:
            raise StateFailed(problem("installing", _errors(done)))

    def remove(self, machine: Machine, names: Sequence[str], *, purge: bool) -> None:
        """`apt-get remove` or `purge`."""
        done = self._patiently(machine.run, self._remove_command(names, purge=purge, simulate=False))
        if done.returncode != 0:
            raise StateFailed(problem("removing", _errors(done)))

    def predict_upgrade(self, machine: Reader, names: Sequence[str], *, whole: bool) -> Sequence[TransactionStep]:
        """What `apt-get --simulate upgrade` says; StateFailed when it cannot tell."""
        simulated = machine.query(self._upgrade_command(names, whole, simulate=True), env=_ENVIRONMENT)
        if simulated.returncode != 0:
            raise StateFailed(problem("upgrading", _errors(simulated)))
        return parse_simulation(simulated.stdout)

    def upgrade(self, machine: Machine, names: Sequence[str], *, whole: bool) -> None:
        """`apt-get upgrade`, `dist-upgrade`, or `install --only-upgrade` of some."""
        done = self._patiently(machine.run, self._upgrade_command(names, whole, simulate=False))
        if done.returncode != 0:
            raise StateFailed(problem("upgrading", _errors(done)))

    def install_files(self, machine: Machine, paths: Sequence[str]) -> None:
        """`apt-get install /path.deb`."""
        if any(not path.startswith("/") for path in paths):
            raise StateFailed("Package files need absolute paths")
        done = self._patiently(machine.run, ["apt-get", *_OPTIONS, "install", "--", *paths])
        if done.returncode != 0:
            raise StateFailed(problem("installing", _errors(done)))

    def downloaded(self, machine: Reader) -> Mapping[str, Collection[str]]:
        """The files in apt's archive; their names have colons escaped."""
        folder = "/var/cache/apt/archives"
        return parse_archive(machine.listdir(folder)) if machine.stat(folder) else {}

    def download(self, machine: Machine, targets: Sequence[PackageTarget], options: InstallOptions) -> None:
        """`apt-get --download-only install`; of what is installed too."""
        command = self._install_command(targets, options, simulate=False)
        verb = command.index("install")
        command[verb:verb] = ["--download-only", "--reinstall"]
        done = self._patiently(machine.run, command)
        if done.returncode != 0:
            raise StateFailed(problem("downloading", _errors(done)))

    def _patiently(self, run: Callable[..., Completed], command: Sequence[str]) -> Completed:
        """Run a command that takes apt's locks; again, for a while, when somebody else has one of them."""
        until = time.monotonic() + self.lock_seconds
        while True:
            done: Completed = run(command, env=_ENVIRONMENT)
            held = _LOCKED.search(done.stderr) if done.returncode != 0 else None
            if held is None:
                return done
            if time.monotonic() >= until:
                given_up = f"E: another package manager was waited for {self.lock_seconds:.0f} s\n"
                return replace(done, stderr=f"{done.stderr.rstrip()}\n{given_up}")
            time.sleep(_LOCK_PAUSE)

    def _upgrade_command(self, names: Sequence[str], whole: bool, *, simulate: bool) -> list[str]:
        for name in names:
            self.check_name(name)
        mode = ["--simulate"] if simulate else []
        verb = ["install", "--only-upgrade", "--", *names] if names else ["dist-upgrade" if whole else "upgrade"]
        return ["apt-get", *_OPTIONS, *mode, *verb]

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """`apt-mark hold` or `unhold`."""
        for name in names:
            self.check_name(name)
        verb = "hold" if held else "unhold"
        done = self._patiently(machine.run, ["apt-mark", verb, "--", *names])
        if done.returncode != 0:
            raise StateFailed(f"Unable to {verb} package {', '.join(names)}: {_errors(done)}")

    def groups(self, machine: Reader, name: str) -> Sequence[str] | None:
        """Apt knows no groups."""
        return None

    def check_name(self, name: str) -> None:
        """Debian's policy 5.6.1 (and `:arch`), with capital letters for those who have them."""
        if not _NAME.fullmatch(name):
            raise StateFailed(
                f"Invalid package name {name!r}: a name begins with a letter or a digit, holds letters, digits, '.', "
                "'+' and '-', and does not end in '-' (apt-get would take that for a removal)"
            )

    def check_version(self, name: str, version: str) -> None:
        """deb-version(7)."""
        if not _VERSION.fullmatch(version):
            raise StateFailed(
                f"Invalid version {version!r} of package {name}: a version begins with a letter or a digit and holds "
                "letters, digits, '.', '+', '-', ':' and '~'"
            )

    def _install_command(
        self, targets: Sequence[PackageTarget], options: InstallOptions, *, simulate: bool
    ) -> list[str]:
        command = ["apt-get", *_OPTIONS]
        if simulate:
            command.append("--simulate")
        if not options.recommends:
            command.append("--no-install-recommends")
        if options.only_upgrade:
            command.append("--only-upgrade")
        if options.reinstall:
            command.append("--reinstall")
        if options.change_held:
            command.append("--allow-change-held-packages")
        if any(target.version for target in targets):
            command.append("--allow-downgrades")
        if options.fromrepo:
            command += ["-t", _release(options.fromrepo)]
        return [*command, "install", "--", *(self._argument(target) for target in targets)]

    def _missing(self, machine: Reader, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        known = self.available(machine, [target.name for target in targets], options.fromrepo)
        errors = {target.name: _not_to_be_had(target, known.get(target.name)) for target in targets}
        return [error for name, error in errors.items() if error and (name in known or not _provided(machine, name))]

    def _argument(self, target: PackageTarget) -> str:
        self.check_name(target.name)
        if not target.version:
            return target.name
        self.check_version(target.name, target.version)
        return f"{target.name}={target.version}"

    def _remove_command(self, names: Sequence[str], *, purge: bool, simulate: bool) -> list[str]:
        for name in names:
            self.check_name(name)
        mode = ["--simulate"] if simulate else []
        return ["apt-get", *_OPTIONS, *mode, "purge" if purge else "remove", "--", *names]


def parse_packages(text: str) -> dict[str, Package]:
    """The packages in `dpkg-query -W` output in the format that `Apt.packages` asks for."""
    rows = [line.split("\t") for line in text.splitlines() if line.count("\t") == 5]
    # Dpkg itself is always there once, in the machine's own architecture.
    native = next((row[1] for row in rows if row[0] == "dpkg"), "")
    found: dict[str, Package] = {}
    for name, architecture, version, want, status, provides in rows:
        installed = status in ("installed", "triggers-awaited", "triggers-pending")
        if not installed and status != "config-files":
            continue
        full = name if architecture in (native, "all") else f"{name}:{architecture}"
        found[full] = Package(
            name=full,
            version=version,
            installed=installed,
            held=want == "hold",
            provides=tuple(part.strip().partition(" ")[0] for part in provides.split(",") if part.strip()),
        )
    return found


def parse_archive(names: Sequence[str]) -> dict[str, set[str]]:
    """Package -> versions, from names of files: `name_version_arch.deb`."""
    found: dict[str, set[str]] = {}
    for file in names:
        parts = unquote(file.removesuffix(".deb")).split("_")
        if file.endswith(".deb") and len(parts) == 3:
            found.setdefault(parts[0], set()).add(parts[1])
    return found


def parse_policy(text: str) -> dict[str, Available]:
    """What can be had, from the output of `apt-cache policy NAME...`; names without a candidate are left out."""
    found: dict[str, Available] = {}
    for name, lines in _paragraphs(text):
        candidate, versions = "", list[str]()
        table = False
        for line in lines:
            key, _, value = line.strip().partition(":")
            if not table and key == "Candidate":
                candidate = value.strip()
            elif key == "Version table":
                table = True
            elif table and re.match(r" (?:\*\*\*|   ) \S", line):
                versions.append(line[5:].split()[0])
        if candidate and candidate != "(none)":
            found[name] = Available(candidate=candidate, versions=tuple(versions))
    return found


def _paragraphs(text: str) -> Iterator[tuple[str, list[str]]]:
    name, lines = "", list[str]()
    for line in text.splitlines():
        if line and not line[0].isspace():
            if name:
                yield name, lines
            name, lines = line.rstrip(":"), []
        else:
            lines.append(line)
    if name:
        yield name, lines


def parse_simulation(text: str) -> list[TransactionStep]:
    """The steps in the output of `apt-get --simulate`, sorted by name."""
    steps: dict[str, TransactionStep] = {}
    for match in _SIMULATED.finditer(text):
        name, old = match["name"], match["old"] or ""
        new = match["new"] or "" if match["verb"] == "Inst" else ""
        step = TransactionStep(name=name, old=old, new=new)
        earlier = steps.get(name)  # a package that is unpacked again after it was removed for a while
        steps[name] = replace(step, old=earlier.old) if earlier else step
    return [steps[name] for name in sorted(steps)]


def _lists_are_younger(machine: Reader, minutes: int) -> bool:
    """Whether apt has fetched its lists within so many minutes."""
    folder = "/var/lib/apt/lists"
    if not any(
        name.endswith(("Packages", "Packages.lz4", "_InRelease", "_Release")) for name in _names(machine, folder)
    ):
        return False
    asked = machine.query(["find", folder, "-maxdepth", "1", "-mmin", f"-{minutes}", "-print", "-quit"])
    return asked.returncode == 0 and bool(asked.stdout.strip())


def _names(machine: Reader, folder: str) -> Sequence[str]:
    return machine.listdir(folder) if machine.stat(folder) else ()


def _provided(machine: Reader, name: str) -> bool:
    """Whether packages provide this name, which is none of a package: apt then chooses, or says which there are."""
    asked = machine.query(["apt-cache", "showpkg", "--", name], env=_ENVIRONMENT)
    found = asked.stdout.startswith(f"Package: {name}\n")  # apt takes other names for a regular expression
    return found and bool(asked.stdout.partition("Reverse Provides:")[2].strip())


def _not_to_be_had(target: PackageTarget, known: Available | None) -> str:
    """Apt's own words, said before it goes looking for something that only resembles the name."""
    if known is None:
        return f"E: Unable to locate package {target.name}"
    if target.version and target.version not in known.versions:
        have = ", ".join(known.versions[:5])
        return f"E: Version '{target.version}' for '{target.name}' was not found (there is: {have})"
    return ""


def _release(name: str) -> str:
    if not _RELEASE.fullmatch(name):
        raise StateFailed(f"Invalid fromrepo {name!r}: it is the name of a release, such as bookworm-backports")
    return name


def _errors(done: Completed) -> str:
    """What apt said of the matter: its E: lines with the lines above them, or the end of all that it said."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if any(line.startswith("E: ") for line in lines):
        lines = [line for line in lines if line.startswith(("E: ", "W: ", "dpkg: ", " "))]
        broken = [line.strip() for line in done.stdout.splitlines() if " : " in line or line.startswith("dpkg: ")]
        lines = broken[:10] + lines
    return "\n".join(lines[-20:]) or f"exit code {done.returncode}, without a message"
