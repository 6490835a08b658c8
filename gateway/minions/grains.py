"""Grains of one stock minion, as it has said them last: kept on disk, so that the next gateway knows them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.machine.durable_files import write_whole

_FILE = "grains.json"
_OF_PROCESS = frozenset(("cwd", "locale_info", "path", "pid", "pythonexecutable", "pythonpath", "shell", "systempath"))
"""Those that `salt-call` has others of than the minion whose key it shows."""


class StockGrains:
    """The grains.

    Args:
        folder: where they are kept.
        minion_id: of the minion.
    """

    def __init__(self, folder: Path, minion_id: str) -> None:
        self._path = folder / _FILE
        self._id = minion_id
        self.known: Mapping[str, Any] = self._kept()
        """Empty: none are known."""

    def learn(self, grains: Mapping[str, Any], *, of_any_process: bool) -> bool:
        """Know what it has said; whether that is something else than before.

        Args:
            grains: what was said.
            of_any_process: whether it may be `salt-call` that said it.
        """
        known = {str(name): value for name, value in grains.items()} | {"id": self._id}
        if of_any_process:
            known |= {name: self.known[name] for name in _OF_PROCESS & self.known.keys()}
        if known == self.known:
            return False
        self.known = known
        write_whole(self._path, json.dumps(known, default=str).encode())
        return True

    def _kept(self) -> Mapping[str, Any]:
        try:
            found = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}
