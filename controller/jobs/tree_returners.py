"""Returners that the live tree brings (`_returners`): which there are. They run on minions, never here."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from controller.reconcile.live import LiveRevision
from extmods.store import SALTENV
from highstate.types import Files

_FILE = re.compile(r"_returners/(\w{1,100})(?:\.py|/__init__\.py)", re.ASCII)
VIRTUAL = re.compile(r"""^(?:__virtualname__ *=|\s+return) *["'](\w{1,100})["']""", re.MULTILINE)
"""What a module may call itself. It is known for certain only when it runs, which it does not here."""


@dataclass(slots=True)
class TreeReturners:
    """Names of the returners of the live tree. They are listed in a thread, once a revision, where somebody asks."""

    live: LiveRevision | None = None
    _digest: str = ""
    names: frozenset[str] = frozenset()
    """As of the last `look`."""

    async def look(self) -> None:
        """List those of the revision that is live now."""
        trees = self.live.trees if self.live is not None else None
        if trees is not None and trees.revision.digest != self._digest:
            names = await asyncio.to_thread(_returners_of, trees.files)
            self._digest, self.names = trees.revision.digest, names


def _returners_of(files: Files) -> frozenset[str]:
    names = set()
    for path in files.list("_returners", SALTENV):
        if match := _FILE.fullmatch(path):
            source = files.read(path, SALTENV).decode("utf-8", "replace")
            names |= {match[1], *VIRTUAL.findall(source)}
    return frozenset(names)
