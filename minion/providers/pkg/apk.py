"""Alpine's package manager: looks in apk's database and with `apk policy`, acts with apk.

Called through the port `minion.providers.pkg.packages.PackageManager`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers import commands
from minion.providers.pkg.packages import Available, InstallOptions, Package, PackageTarget, TransactionStep
from minion.providers.pkg.transactions import Transactions, offers

_DATABASE = "/lib/apk/db/installed"
_WORLD = "/etc/apk/world"
_STEP = re.compile(r"\(\d+/\d+\) (?P<verb>[A-Z]\w+) (?P<name>\S+) \((?P<from>[^ )]+)(?: -> (?P<to>[^ )]+))?\)")
_VERSION = re.compile(
    r"(?P<numbers>\d+(?:\.\d+)*)(?P<letter>[a-z]?)(?P<suffixes>(?:_[a-z]+\d*)*)(?:~[0-9a-f]+)?(?:-r(?P<revision>\d+))?"
)
_SUFFIXES = ("alpha", "beta", "pre", "rc", "", "cvs", "svn", "git", "hg", "p")
"""In their order; the empty one stands for none."""


@dataclass(frozen=True, slots=True)
class Apk(Transactions):
    """`PackageManager` of Alpine."""

    def packages(self, machine: Reader) -> Mapping[str, Package]:
        """What apk's database has; what `world` wants at the version that is there is held."""
        if machine.stat(_DATABASE) is None:
            return {}
        pins = parse_world(_world(machine))
        found = parse_database(machine.read(_DATABASE).decode(errors="replace"))
        return {name: replace(one, held=pins.get(name) == one.version) for name, one in found.items()}

    def available(self, machine: Reader, names: Sequence[str], fromrepo: str = "") -> Mapping[str, Available]:
        """What `apk policy` says of these names."""
        for name in names:
            commands.check_name(name)
        return parse_policy(commands.asked(machine, ["apk", "policy", *names])) if names else {}

    def compare(self, left: str, right: str) -> int:
        """Apk's order."""
        return compare(left, right)

    def refresh(self, machine: Reader, *, older_than: int | None) -> str:
        """`apk update`."""
        age = [] if older_than is None else ["--cache-max-age", str(older_than)]
        done = machine.query(["apk", "update", *age])
        return "" if done.returncode == 0 else commands.complaint(done)

    def hold(self, machine: Machine, names: Sequence[str], *, held: bool) -> None:
        """`apk add name=version`: apk keeps to a version that `world` names."""
        have = self.packages(machine)
        for name in names:
            self.check_name(name)
            if name not in have:
                raise StateFailed(f"Package {name} is not installed: there is no version to hold it at")
        wanted = [f"{name}={have[name].version}" if held else name for name in names]
        self._carried_out(machine, ["add", *wanted], "holding" if held else "unholding")

    def groups(self, machine: Reader, name: str) -> Sequence[str] | None:
        """Apk knows no groups."""
        return None

    def check_version(self, name: str, version: str) -> None:
        """As apk has them."""
        if not _VERSION.fullmatch(version):
            raise StateFailed(f"Invalid version {version!r} of package {name}: apk's look like 1.2.3_rc1-r0")

    def _predicted(
        self, machine: Reader, command: Sequence[str], *, gone: bool = False
    ) -> list[TransactionStep] | None:
        verb, *rest = command
        shown = machine.query(["apk", verb, "--simulate", *rest])
        return parse_steps(shown.stdout) if shown.returncode == 0 else None

    def _carried_out(self, machine: Machine, command: Sequence[str], doing: str) -> None:
        commands.carry_out(machine, ["apk", *command], doing)

    def _files(self, paths: Sequence[str]) -> list[str]:
        return ["add", *paths]

    def _install(self, targets: Sequence[PackageTarget], options: InstallOptions) -> list[str]:
        if options.reinstall:
            return ["fix", "--reinstall", *(one.name for one in targets)]
        tag = f"@{commands.check_repository(options.fromrepo)}" if options.fromrepo else ""
        return ["add", *(f"{one.name}{tag}={one.version}" if one.version else f"{one.name}{tag}" for one in targets)]

    def _remove(self, names: Sequence[str], purge: bool) -> list[str]:
        return ["del", *(["--purge"] if purge else []), *names]

    def _upgrade(self, names: Sequence[str], whole: bool) -> list[str]:
        return ["add", "--upgrade", *names] if names else ["upgrade"]


def parse_database(text: str) -> dict[str, Package]:
    """The packages in apk's database: stanzas of one-letter fields."""
    found: dict[str, Package] = {}
    for stanza in text.split("\n\n"):
        fields = {line[0]: line[2:] for line in stanza.splitlines() if line[1:2] == ":" and line[0] in "PVp"}
        if "P" in fields:
            provides = (word.partition("=")[0] for word in fields.get("p", "").split() if ":" not in word)
            found[fields["P"]] = Package(
                name=fields["P"], version=fields.get("V", ""), installed=True, provides=tuple(provides)
            )
    return found


def parse_world(text: str) -> dict[str, str]:
    """Package -> the version that it is kept at, from `/etc/apk/world`."""
    pins = (word.partition("=") for word in text.split() if not re.search("[<>~!]", word))
    return {name.partition("@")[0]: version for name, equals, version in pins if equals}


def _world(machine: Reader) -> str:
    return machine.read(_WORLD).decode(errors="replace") if machine.stat(_WORLD) else ""


def parse_policy(text: str) -> dict[str, Available]:
    """What can be had, from `apk policy`; a version that only the machine itself has is left out."""
    policies = dict(_policies(text))
    return offers(
        {name: [one for one, places in versions.items() if places] for name, versions in policies.items()}, compare
    )


def _policies(text: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    name, version = "", ""
    versions: dict[str, list[str]] = {}
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if depth == 0 and line.endswith(" policy:"):
            if name:
                yield name, versions
            name, versions = line.removesuffix(" policy:"), {}
        elif depth == 2:
            version = line.strip().rstrip(":")
            versions[version] = []
        elif depth > 2 and not line.strip().endswith("db/installed"):
            versions[version].append(line.strip())
    if name:
        yield name, versions


def parse_steps(text: str) -> list[TransactionStep]:
    """The steps that apk tells of, sorted by name."""
    steps = []
    for match in _STEP.finditer(text):
        first, second = match["from"], match["to"]
        if match["verb"] in ("Purging", "Removing"):
            steps.append(TransactionStep(name=match["name"], old=first, new=""))
        elif second:
            steps.append(TransactionStep(name=match["name"], old=first, new=second))
        elif match["verb"] == "Installing":
            steps.append(TransactionStep(name=match["name"], old="", new=first))
    return sorted(steps, key=lambda step: step.name)


def compare(left: str, right: str) -> int:
    """-1, 0 or 1: numbers, a letter, suffixes (`_alpha` before none before `_p`), the revision."""
    ours, theirs = _key(left), _key(right)
    return (ours > theirs) - (ours < theirs)


def _key(version: str) -> tuple[object, ...]:
    match = _VERSION.fullmatch(version)
    if match is None:
        return ((), "", (), 0, version)
    suffixes = [re.fullmatch(r"([a-z]+)(\d*)", part) for part in match["suffixes"].split("_") if part]
    ranks = [(_rank(one[1]), int(one[2] or 0)) for one in suffixes if one]
    numbers = tuple(int(number) for number in match["numbers"].split("."))
    return (numbers, match["letter"], (*ranks, (_rank(""), 0)), int(match["revision"] or 0))


def _rank(suffix: str) -> int:
    return _SUFFIXES.index(suffix) if suffix in _SUFFIXES else len(_SUFFIXES)
