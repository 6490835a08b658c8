"""Requisites on what is not there: declared nowhere in the tree, or in an SLS that is not included.

Called by `trees` with one SLS and what it includes, and with the index of all that the tree declares for the same
grains. A requisite that another SLS of the minion satisfies works, as long as the top file gives both.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from highstate.compile.high import High, first_key
from highstate.lint.findings import Finding
from highstate.lint.recovery import MARK
from highstate.types import Value
from options.near_names import did_you_mean

_KINDS = frozenset(
    f"{kind}{form}"
    for kind in ("require", "watch", "onchanges", "onfail", "prereq", "listen")
    for form in ("", "_any", "_all", "_in")
) | {"use", "use_in"}


@dataclass(slots=True)
class Declared:
    """What some SLS declare: names by state module, SLS names, and where each name is."""

    names: dict[str, set[str]] = field(default_factory=dict)
    """State module -> IDs and names; the empty module has those of all."""
    sls: set[str] = field(default_factory=set)
    homes: dict[tuple[str, str], str] = field(default_factory=dict)
    """(state module, ID or name) -> the SLS that declares it."""

    def add(self, high: High, sls: Iterable[str] = ()) -> None:
        """Add what high data declares, and the names of SLS that have nothing in them."""
        self.sls.update(sls)
        for id_, state, run in high.declarations():
            home = str(high.bodies[id_].get("__sls__", ""))
            self.sls.update((home, *high.bodies[id_].get("__sls_included_from__", ())))
            for name in {id_, *_names(run)}:
                for module in (state, ""):
                    self.names.setdefault(module, set()).add(name)
                    self.homes.setdefault((module, name), home)

    def has(self, module: str, name: str) -> bool:
        """Whether a requisite on `module: name` finds something; a glob may match anything."""
        if module == "sls":
            return any(fnmatch.fnmatch(sls, name) for sls in self.sls) or any(mark in name for mark in "*?[")
        names = self.names.get("" if module == "id" else module, set())
        if name in names or (any(mark in name for mark in "*?[") and fnmatch.filter(names, name)):
            return True
        return any(fnmatch.fnmatchcase(name, known.replace(MARK, "*")) for known in names if MARK in known)


def _names(run: list[Value]) -> Iterator[str]:
    for argument in run:
        if isinstance(argument, dict):
            yield from (value for key, value in argument.items() if key == "name" and isinstance(value, str))
            for name in argument.get("names") or [] if isinstance(argument.get("names"), list) else []:
                yield str(next(iter(name), "")) if isinstance(name, dict) else str(name)


def check_requisites(high: High, own: Declared, tree: Declared) -> Iterator[Finding]:
    """Findings about the requisites of high data that is not reconciled yet. `own` is what it declares itself."""
    for id_, state, run in high.declarations():
        location = high.location(id_)
        for argument in run:
            kind = first_key(argument)
            if kind not in _KINDS:
                continue
            for module, name in targets_of(argument[kind]):
                if own.has(module, name):
                    continue
                what = f"{kind} of {state} {id_!r} names {module + ': ' if module else ''}{name}"
                if tree.has(module, name):
                    home = name if module == "sls" else tree.homes.get((module, name), "")
                    where = f"SLS {home!r}" if home else "another SLS"
                    message = f"{what}, which is in {where} and not included here"
                    hint = f"add it to `include:`, so that the states work alone: - {home}" if home else ""
                    yield Finding.of(location.problem(message, state, kind, hint=hint), "requisite-not-included")
                else:
                    message = f"{what}, which is declared nowhere"
                    hint = _near(name, tree.names.get(module, set()))
                    yield Finding.of(location.problem(message, state, kind, hint=hint), "dangling-requisite")


def targets_of(items: Value) -> Iterator[tuple[str, str]]:
    """(state module, name) of each requisite that is well formed; the module is empty for a bare name."""
    pairs = list(items.items()) if isinstance(items, dict) else []
    for item in items if isinstance(items, list) else []:
        if isinstance(item, str):
            pairs.append(("", item))
        elif isinstance(item, dict) and len(item) == 1:
            pairs.extend(item.items())
    for module, name in pairs:
        if isinstance(module, str) and isinstance(name, str) and "." not in module:
            yield module, name


def _near(name: str, known: set[str]) -> str:
    return did_you_mean(name, known, most=2, quote="'")
