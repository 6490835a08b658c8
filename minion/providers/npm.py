"""Packages of Node.js as npm has them: asked, installed, removed; its cache.

Called by the state and the execution module `npm`. npm 7 and newer is meant; it tells all as JSON. The address of a
registry goes to it by the environment, since it may hold a password.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.user_programs import UserProgram

_NAME = r"(?:@[a-zA-Z0-9~_][a-zA-Z0-9._~-]*/)?[a-zA-Z0-9_~][a-zA-Z0-9._~-]*"
_NAMED = re.compile(rf"(?P<name>{_NAME})(?:@(?P<version>.+))?")
_EXACT = re.compile(r"[v=]*(?P<version>\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)(?:\+[0-9A-Za-z.-]+)?")
_TAG = re.compile(r"(?!v?[0-9xX*]+(?:\.|$))[A-Za-z][0-9A-Za-z._-]*")
_FILE = re.compile(r".+\.(?:tgz|tar\.gz|tar)", re.IGNORECASE)
_ONLY_PROBLEMS = "ELSPROBLEMS"
"""The code of npm list where packages are there that nothing needs, or lack: it has listed what there is."""
_TODO = ("added", "changed", "removed", "updated", "moved")
_QUIET = {"npm_config_update_notifier": "false", "npm_config_logs_max": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Npm:
    """npm as one user runs it, for the packages of a folder or of the whole machine.

    Args:
        folder: whose packages are meant; None: those of the whole machine.
    """

    program: UserProgram
    folder: str | None

    def listed(self, machine: Reader, spec: str | None = None, depth: int | None = None) -> dict[str, Any]:
        """Name → what npm tells of a package that is there, all or those that fit a name and a version."""
        words = [] if depth is None else [f"--depth={depth}"]
        done = self._ask(machine, "list", "--json", *self._where(machine), *words, *([spec] if spec else []))
        told = _read(done)
        error = told.get("error")
        if error and error.get("code") != _ONLY_PROBLEMS:
            raise StateFailed(_complaint(done))
        return {name: one for name, one in told.get("dependencies", {}).items() if "version" in one}

    def missing(self, machine: Reader, specs: Sequence[str], there: Mapping[str, str]) -> list[str]:
        """Those of the packages that are not there (name -> version), or not in the version that is wanted."""
        return [spec for spec in specs if not self._fits(machine, checked(spec), there)]

    def todo(self, machine: Reader) -> bool:
        """Whether the folder lacks something of what its package.json and its lock name."""
        done = self._ask(machine, "install", "--dry-run", "--json", "--no-audit", "--no-fund", *self._where(machine))
        return any(_succeeded(done).get(key) for key in _TODO)

    def install(self, machine: Machine, specs: Sequence[str], *words: str) -> dict[str, Any]:
        """Install packages, or without any what the folder's package.json names; what npm tells."""
        options = ["--json", "--no-audit", "--no-fund", *words, *self._where(machine)]
        return _succeeded(self.program.tell(machine, "install", *options, *map(checked, specs), cwd=self.folder))

    def uninstall(self, machine: Machine, name: str) -> None:
        """Remove a package."""
        done = self.program.tell(machine, "uninstall", *self._where(machine), checked(name), cwd=self.folder)
        if done.returncode != 0:
            raise StateFailed(_complaint(done))

    def cached(self, machine: Reader, name: str | None = None) -> list[str]:
        """Keys of what npm's cache has, all or those of a package."""
        done = self._ask(machine, "cache", "ls", *([checked(name)] if name else []))
        if done.returncode != 0:
            raise StateFailed(_complaint(done))
        return done.stdout.splitlines()

    def clean(self, machine: Machine, keys: Sequence[str], *, force: bool = False) -> None:
        """Remove these from the cache, or all without any: that npm does with `force` alone."""
        done = self.program.tell(machine, "cache", "clean", *keys, *(["--force"] if force else []))
        if done.returncode != 0:
            raise StateFailed(_complaint(done))

    def cache_folder(self, machine: Reader) -> str:
        """Where the cache is."""
        return self._ask(machine, "config", "get", "cache").stdout.strip()

    def _ask(self, machine: Reader, *words: str) -> Completed:
        return self.program.ask(machine, *words)

    def _where(self, machine: Reader) -> list[str]:
        if self.folder is None:
            return ["--global"]
        if machine.stat(self.folder) is None:
            raise StateFailed(f"there is no folder {self.folder}")
        return ["--prefix", self.folder]

    def _fits(self, machine: Reader, spec: str, there: Mapping[str, str]) -> bool:
        found = _NAMED.fullmatch(spec)
        if found is None or (_FILE.fullmatch(spec) and not found["version"]):
            name, version = self._origin(machine, spec)
            return there.get(name) == version
        name, wanted = found["name"], found["version"]
        if name not in there or wanted is None:
            return name in there
        if exact := _EXACT.fullmatch(wanted):
            return there[name] == exact["version"]
        if "/" in wanted or ":" in wanted:  # an alias, or where the package comes from
            return there[name] == self._origin(machine, wanted.removeprefix("npm:"))[1]
        if _TAG.fullmatch(wanted):
            return there[name] == self._tagged(machine, spec)
        return bool(self.listed(machine, spec, depth=0))

    def _tagged(self, machine: Reader, spec: str) -> str:
        """The version that a tag, such as `latest`, stands for now: the registry tells."""
        done = self._ask(machine, "view", spec, "version", "--json")
        if done.returncode != 0 or not done.stdout.strip():
            raise StateFailed(_complaint(done))
        return str(json.loads(done.stdout))

    def _origin(self, machine: Reader, source: str) -> tuple[str, str]:
        """Name and version of the package that a path, an address or a repository holds."""
        path = source.removeprefix("file:")
        if path.startswith((".", "~")):
            raise StateFailed(f"{source}: give its absolute path")
        if path.startswith("/") and not _FILE.fullmatch(path):
            told = json.loads(machine.read(posixpath.join(path, "package.json")))
            return told["name"], told["version"]
        done = self._ask(machine, "pack", source, "--dry-run", "--json")
        if done.returncode != 0:
            raise StateFailed(_complaint(done))
        [told] = json.loads(done.stdout)
        return told["name"], told["version"]


def npm_of(
    folder: str | None = None, user: str | None = None, env: Mapping[str, str] | None = None,
    registry: str | None = None,
) -> Npm:  # fmt: skip
    """npm as a state or a function names it."""
    asked = {"npm_config_registry": registry} if registry else {}
    program = UserProgram(
        argv=("npm",), remedy="install Node.js with npm (Debian: npm)", user=user,
        env={**_QUIET, **asked, **(env or {})},
    )  # fmt: skip
    return Npm(program=program, folder=folder)


def checked(spec: str) -> str:
    """The package. StateFailed where npm would take it for an option, or for nothing."""
    if not spec.strip() or spec.startswith("-"):
        raise StateFailed(f"{spec!r} is no package of npm")
    return spec


def _read(done: Completed) -> dict[str, Any]:
    """The object that npm has printed, after lines that are for people."""
    start = done.stdout.find("{")
    try:
        told = json.loads(done.stdout[start:]) if start >= 0 else {}
    except ValueError:
        told = {}
    if not told and done.returncode != 0:
        raise StateFailed(_complaint(done))
    return told if isinstance(told, dict) else {}


def _succeeded(done: Completed) -> dict[str, Any]:
    told = _read(done)
    if done.returncode != 0 or "error" in told:
        raise StateFailed(_complaint(done))
    return told


def _complaint(done: Completed) -> str:
    return done.stderr.strip() or done.stdout.strip() or f"npm ends with {done.returncode}"
