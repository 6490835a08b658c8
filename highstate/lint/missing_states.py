"""States of a compile that no minion has by itself: it would fail on each of them. Pure.

Called by the compile workers for what goes to minions. `highstate.lint.states` looks at whole trees, and at arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from highstate.types import Chunk, Files, Pos, Problem
from options.near_names import did_you_mean

_VIRTUAL_NAME = re.compile(rb"^__virtualname__\s*=\s*[\"'](\w+)[\"']", re.MULTILINE)
_SALTENV = "base"
"""Whose modules minions take."""


def missing_states(chunks: Iterable[Chunk], known: Collection[str], files: Files) -> tuple[Problem, ...]:
    """A warning for each function that is not there, at the first state that calls it.

    Args:
        chunks: of the compile.
        known: all state functions that a minion has.
        files: may bring modules of their own (`_states`).
    """
    calls: dict[str, Chunk] = {}
    for chunk in chunks:
        name = f"{chunk.state}.{chunk.fun}"
        if name not in known:
            calls.setdefault(name, chunk)
    own = own_state_modules(files) if calls else frozenset()
    return tuple(_warning(name, chunk, known) for name, chunk in calls.items() if chunk.state not in own)


def own_state_modules(files: Files) -> frozenset[str]:
    """The state modules that minions take of a tree: names of files, and those that they give themselves."""
    found: set[str] = set()
    for path in files.list("_states", _SALTENV):
        if path.endswith(".py"):
            found.add(path.rpartition("/")[2].removesuffix(".py"))
            content = files.read(path, _SALTENV) or b""
            found |= {name.decode() for name in _VIRTUAL_NAME.findall(content)}
    return frozenset(found)


def _warning(name: str, chunk: Chunk, known: Collection[str]) -> Problem:
    message = f"there is no state {name}: {chunk.id!r} fails, unless the minion has a module of its own for it"
    hint = did_you_mean(name, known, most=2, cutoff=0.75)
    return Problem(message=message, pos=chunk.pos or Pos(file=chunk.sls), hint=hint)
