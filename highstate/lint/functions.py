"""The functions that reactions and steps of orchestrations may call, by name. Called by the checks of both."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from highstate.types import Files
from options.near_names import did_you_mean

CalledKind: TypeAlias = Literal["execution", "runner", "wheel"]

_CALLED: Mapping[CalledKind, str] = {"execution": "function", "runner": "runner", "wheel": "wheel function"}
_FOLDERS: Mapping[CalledKind, tuple[str, ...]] = {"execution": ("_modules",), "runner": ("_runners",), "wheel": ()}
_VIRTUAL_NAME = re.compile(rb"^__virtualname__\s*=\s*[\"'](\w+)[\"']", re.MULTILINE)
_SALTENV = "base"
"""Whose modules are taken."""


class NoSuchFunction(NamedTuple):
    """Why a function cannot be called."""

    message: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class CallableNames:
    """All functions by kind. Of a kind that is not told, every function is taken to be there."""

    names: Mapping[CalledKind, Collection[str]] = field(default_factory=dict)
    own_modules: Mapping[CalledKind, frozenset[str]] = field(default_factory=dict)
    """Modules that the tree brings: what they have is not known."""
    not_built: Mapping[CalledKind, Mapping[str, str]] = field(default_factory=dict)
    """Functions of Salt's that are not here, and what to do instead."""

    def why_not(self, kind: CalledKind, fun: str) -> NoSuchFunction | None:
        """Why a function cannot be called; None when it is there, or nothing is known."""
        known = self.names.get(kind)
        module = fun.partition(".")[0]
        if known is None or fun in known or module in self.own_modules.get(kind, ()):
            return None
        if instead := self.not_built.get(kind, {}).get(fun):
            return NoSuchFunction(f"{fun} is a {_CALLED[kind]} of Salt's that Saltern does not have", instead)
        if "." not in fun:
            return NoSuchFunction(f"there is no {_CALLED[kind]} {fun!r}", "a function is written MODULE.NAME")
        return NoSuchFunction(f"there is no {_CALLED[kind]} {fun}", self._near(kind, fun, module, known))

    def _near(self, kind: CalledKind, fun: str, module: str, known: Collection[str]) -> str:
        if hint := did_you_mean(fun, known, most=2, cutoff=0.75):
            return hint
        of_module = sorted(name.partition(".")[2] for name in known if name.startswith(f"{module}."))
        if of_module:
            return did_you_mean(fun, [f"{module}.{name}" for name in of_module], cutoff=0.5) or (
                f"{module} has {', '.join(of_module[:20])}"
            )
        modules = {name.partition(".")[0] for name in known}
        folder = f", or bring one below {_FOLDERS[kind][0]}/" if _FOLDERS[kind] else ""
        near = did_you_mean(module, modules)
        return f"there is no module {module!r}: {near}" if near else f"there is no module {module!r}{folder}"


def with_own_modules(known: CallableNames, files: Files) -> CallableNames:
    """The same with what the tree brings itself."""
    own = {kind: _modules_of(files, folders) for kind, folders in _FOLDERS.items()}
    return CallableNames(names=known.names, own_modules=own, not_built=known.not_built)


def _modules_of(files: Files, folders: Collection[str]) -> frozenset[str]:
    found: set[str] = set()
    for folder in folders:
        for path in files.list(folder, _SALTENV):
            if path.endswith(".py"):
                name = path.removeprefix(f"{folder}/").removesuffix(".py").partition("/")[0]
                found.add(name)
                found |= {each.decode() for each in _VIRTUAL_NAME.findall(files.read(path, _SALTENV) or b"")}
    return frozenset(found)
