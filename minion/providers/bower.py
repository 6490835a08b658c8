"""Packages of a project as bower has them.

Called by the state and the execution module `bower`. It tells all as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.user_programs import UserProgram

_ALWAYS = ("--config.analytics", "false", "--config.interactive", "false", "--allow-root", "--json")
_LACKS = ("missing", "different", "incompatible")
"""Marks of a dependency that is not as the project's bower.json wants it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bower:
    """bower as one user runs it in a folder."""

    program: UserProgram
    folder: str

    def listed(self, machine: Reader) -> dict[str, Any]:
        """Name → what bower tells of a package that the folder has, or should have."""
        if machine.stat(self.folder) is None:
            raise StateFailed(f"there is no folder {self.folder}")
        found = _told(self.program.ask(machine, "list", *self._always(), "--offline")).get("dependencies", {})
        return dict(found)

    def tell(self, machine: Machine, action: str, specs: Sequence[str] = ()) -> dict[str, Any]:
        """Have it `install`, `uninstall` or `prune`; what has changed by name."""
        words = [action, *map(checked, specs), *self._always()]
        return _told(self.program.tell(machine, *words, cwd=self.folder))

    def _always(self) -> tuple[str, ...]:
        return (*_ALWAYS, f"--config.cwd={self.folder}")


def bower_of(folder: str, user: str | None = None, env: Mapping[str, str] | None = None) -> Bower:
    """bower as a state or a function names it."""
    program = UserProgram(argv=("bower",), remedy="install it with npm.installed", user=user, env=env or {})
    return Bower(program=program, folder=folder)


def have(there: Mapping[str, Any], spec: str) -> str:
    """The package that is there for `name`, `name#version` or `source#version`, with its version; empty without."""
    source, _, version = checked(spec).partition("#")
    name, _, source = source.rpartition("=")
    for known, one in there.items():
        meta, endpoint = one.get("pkgMeta") or {}, one.get("endpoint") or {}
        if one.get("missing") or (known != (name or source) and source not in _sources(meta, endpoint)):
            continue
        versions = (meta.get("version"), meta.get("_release"), meta.get("_target"), endpoint.get("target"))
        if not version or version in versions:
            return f"{known}#{meta.get('version') or meta.get('_release')}"
    return ""


def lacking(there: Mapping[str, Any]) -> bool:
    """Whether a dependency, at any depth, is not as it should be."""
    return any(one.get(mark) for one in _all(there) for mark in _LACKS)


def extraneous(there: Mapping[str, Any]) -> dict[str, str]:
    """Packages that bower.json does not name, with their versions."""
    return {
        name: str((one.get("pkgMeta") or {}).get("version", ""))
        for name, one in there.items()
        if one.get("extraneous") and not one.get("missing")
    }


def checked(spec: str) -> str:
    """The package. StateFailed where bower would take it for an option."""
    if not spec.strip() or spec.startswith("-"):
        raise StateFailed(f"{spec!r} is no package of bower")
    return spec


def _sources(meta: Mapping[str, Any], endpoint: Mapping[str, Any]) -> tuple[Any, ...]:
    return meta.get("_source"), meta.get("_originalSource"), endpoint.get("source")


def _all(there: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in there.values():
        yield one
        yield from _all(one.get("dependencies") or {})


def _told(done: Completed) -> dict[str, Any]:
    if done.returncode != 0:
        raise StateFailed(_complaint(done))
    try:
        told = json.loads(done.stdout or "{}")
    except ValueError:
        raise StateFailed(_complaint(done)) from None
    return told if isinstance(told, dict) else {}


def _complaint(done: Completed) -> str:
    """The messages of level `error` where it tells them as JSON."""
    try:
        said = [one["message"] for one in json.loads(done.stderr) if one.get("level") == "error"]
    except (ValueError, KeyError, TypeError, AttributeError):
        said = []
    return "\n".join(said) or done.stderr.strip() or f"bower ends with {done.returncode}"
