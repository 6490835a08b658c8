"""Packages of Haskell as cabal and ghc-pkg have them: libraries, of a user or of the machine.

Called by the state and the execution module `cabal`. Salt's words `--global` and `--installed`, and ghc-pkg, are of the
commands that cabal calls v1; `cabal install` itself means something else since version 3, which no list shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.user_programs import UserProgram

_SPEC = re.compile(r"(?P<name>[A-Za-z0-9]+(?:-[A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*)*)(?:-(?P<version>\d+(?:\.\d+)*))?")
_WITH_V1 = (2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cabal:
    """cabal and ghc-pkg, as one user runs them."""

    cabal: UserProgram
    ghc_pkg: UserProgram

    def listed(self, machine: Reader, pkg: str | None = None, *, installed: bool = False) -> dict[str, list[str]]:
        """Name → versions, the newest last: of all that is known, or of what is installed."""
        words = [*(["--installed"] if installed else []), *([pkg] if pkg else [])]
        done = _need(self.cabal.ask(machine, "list", "--simple-output", *words))
        found: dict[str, list[str]] = {}
        for line in done.stdout.splitlines():
            name, _, version = line.strip().partition(" ")
            if version and re.fullmatch(r"[\d.]+", version):
                found.setdefault(name, []).append(version)
        return found

    def install(self, machine: Machine, pkgs: Sequence[str], *, install_global: bool = False) -> Completed:
        """Install packages, for the user or with `install_global` for all."""
        said = re.search(r"version (\d+)\.(\d+)", self.cabal.ask(machine, "--version").stdout)
        new = said is not None and (int(said[1]), int(said[2])) >= _WITH_V1
        words = ["v1-install" if new else "install", *(["--global"] if install_global else [])]
        return _need(self.cabal.tell(machine, *words, *map(checked, pkgs)))

    def update(self, machine: Machine) -> Completed:
        """Read anew which packages there are."""
        return _need(self.cabal.tell(machine, "update"))

    def uninstall(self, machine: Machine, pkg: str) -> Completed:
        """Have GHC forget a package."""
        return _need(self.ghc_pkg.tell(machine, "unregister", checked(pkg)))


def cabal_of(user: str | None = None, env: Mapping[str, str] | None = None) -> Cabal:
    """As a state or a function names them."""
    programs = (
        UserProgram(argv=(name,), remedy="install cabal-install and ghc", user=user, env=env or {})
        for name in ("cabal", "ghc-pkg")
    )
    return Cabal(cabal=next(programs), ghc_pkg=next(programs))


def parted(spec: str) -> tuple[str, str | None]:
    """Name and version of `foo`, `foo-bar` or `foo-bar-1.0`."""
    found = _SPEC.fullmatch(checked(spec))
    return (found["name"], found["version"]) if found else (spec, None)


def checked(spec: str) -> str:
    """The package. StateFailed where a program would take it for an option."""
    if not spec.strip() or spec.startswith("-"):
        raise StateFailed(f"{spec!r} is no package of cabal")
    return spec


def _need(done: Completed) -> Completed:
    if done.returncode != 0:
        raise StateFailed((done.stderr or done.stdout).strip() or f"it ended with {done.returncode}")
    return done
