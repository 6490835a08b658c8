"""Packages of Ruby as gem(1) has them: asked, installed, removed.

Called by the state and the execution module `gem`. A proxy goes to the program by the environment, since it may hold a
password.
"""

from __future__ import annotations

import posixpath
import pwd
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

_ROW = re.compile(r"^(\S+) \((.+)\)$", re.MULTILINE)
_FILE = re.compile(r"(?P<name>.+?)-(?P<version>\d[^-]*)(?:-.+)?\.gem")
_CONDITION = re.compile(r"(?P<operator>>=|<=|~>|!=|=|>|<)?\s*(?P<version>[0-9A-Za-z.-]+)")
_MISSING = 127


class GemOptions(NamedTuple):
    """How a package is installed."""

    version: str | None = None
    """One, or conditions such as `~> 2.1`."""
    rdoc: bool = False
    ri: bool = False
    pre_releases: bool = False
    proxy: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gems:
    """The packages of one program gem, as one user has them.

    Args:
        program: its path, or `gem`.
        user: who runs it; None: who runs the minion.
    """

    program: str
    user: str | None

    def ask(self, machine: Reader, *words: str) -> str:
        """What a command that only looks prints. StateFailed where it fails."""
        argv, env = [self.program, *words], None
        if self.user:
            argv = ["runuser", "-u", self.user, "--", *argv]
            env = {"HOME": _home(self.user)}
        return self._output(machine.query(argv, env=env), words)

    def tell(self, machine: Machine, *words: str, env: Mapping[str, str] | None = None) -> str:
        """What a command that changes something prints. StateFailed where it fails."""
        return self._output(machine.run([self.program, *words], runas=self.user, env=env), words)

    def installed(self, machine: Reader) -> dict[str, list[str]]:
        """Name → versions, the newest first."""
        return rows(self.ask(machine, "list", "--local"))

    def sources(self, machine: Reader) -> list[str]:
        """Addresses of the servers that packages come from."""
        return self.ask(machine, "sources", "--list").splitlines()[2:]

    def install(self, machine: Machine, names: Sequence[str], options: GemOptions) -> str:
        """Install packages."""
        documents = [name for name, wanted in (("rdoc", options.rdoc), ("ri", options.ri)) if wanted]
        words = [f"--document={','.join(documents)}" if documents else "--no-document"]
        if options.version:
            words += ["--version", options.version]
        if options.pre_releases:
            words.append("--prerelease")
        if options.source:
            words += ["--source", without_password(options.source)]
        proxy = {f"{kind}_proxy": options.proxy for kind in ("http", "https")} if options.proxy else None
        return self.tell(machine, "install", *words, *map(checked, names), env=proxy)

    def _output(self, done: Completed, words: Sequence[str]) -> str:
        if done.returncode == _MISSING:
            raise StateFailed(f"{self.program} is not there: install Ruby's packages (Debian: ruby), or give gem_bin")
        if done.returncode != 0:
            raise StateFailed(f"gem {words[0]}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout


def rows(text: str) -> dict[str, list[str]]:
    """Name → versions, of the lines `name (2.1, default: 2.0)`."""
    return {
        name: [one.strip().removeprefix("default: ") for one in versions.split(",")]
        for name, versions in _ROW.findall(text)
    }


def in_file(name: str) -> tuple[str, str | None]:
    """Name and version of a package; those that the name of its file has, where one is given."""
    found = _FILE.fullmatch(posixpath.basename(name))
    return (found["name"], found["version"]) if found else (name, None)


def satisfies(version: str, conditions: str) -> bool:
    """Whether a version is the one that is wanted, or as conditions want it: `>= 1.2, < 3`, `~> 2.1`."""
    return all(_satisfies(version, one.strip()) for one in conditions.split(","))


def checked(name: str) -> str:
    """The name. StateFailed where gem would take it for something else."""
    if not name or name.startswith("-") or any(char.isspace() for char in name):
        raise StateFailed(f"{name!r} is no name of a package of Ruby")
    return name


def without_password(address: str) -> str:
    """The address. StateFailed where it has a password, which all users would see in the list of processes."""
    if "@" in urlsplit(address).netloc:
        raise StateFailed("an address with a password would be seen in the list of processes: write it into a gemrc")
    return address


def _satisfies(version: str, condition: str) -> bool:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise StateFailed(f"version {condition!r} is no version of a package of Ruby, and no condition")
    have, want = _order(version), _order(found["version"])
    match found["operator"]:
        case ">=":
            return have >= want
        case ">":
            return have > want
        case "<=":
            return have <= want
        case "<":
            return have < want
        case "!=":
            return have != want
        case "~>":
            parts = re.findall(r"[0-9]+", found["version"])
            kept = [int(one) for one in parts[:-1] or parts]
            return have >= want and [*map(int, re.findall(r"[0-9]+", version)), *([0] * 9)][: len(kept)] == kept
        case _:
            return have == want


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """A version as it compares: numbers by their value, letters, which are of what comes before it, below them."""
    numbers, letters = re.fullmatch(r"([0-9.]*)(.*)", version, re.DOTALL).groups()  # type: ignore[union-attr]
    numbers = re.sub(r"(\.0+)+\.?$", "", numbers)
    parts = re.findall(r"[0-9]+|[a-z]+", f"{numbers}.{letters}", re.IGNORECASE)
    return (*((1, int(one), "") if one.isdigit() else (0, 0, one) for one in parts), (1, -1, ""))


def _home(user: str) -> str:
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        raise StateFailed(f"User '{user}' is not available") from None
