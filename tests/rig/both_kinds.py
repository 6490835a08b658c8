"""Minions of this project and unmodified salt-minions under one controller, for tests of what treats both alike.

All of them manage the tree of the scenarios below a folder of their own, which the grain `root` names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rig import Rig
from stock_minions import StockMinions, salt_venvs

PATIENCE = 180.0
"""Seconds: a salt-minion takes some to start."""


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def newest_venv() -> Path:
    """The virtualenv with the newest salt-minion. IndexError: there is none."""
    found = salt_venvs()
    return found[sorted(found, key=_number)[-1]]


class BothKinds:
    """A rig with stock minions beside its own.

    Args:
        rig: whose controller runs.
        stock: id of each stock minion -> its grains.
        more: options of the stock minions' configuration.
    """

    def __init__(self, rig: Rig, stock: Mapping[str, Mapping[str, Any]], more: Mapping[str, Any] | None = None) -> None:
        self.rig = rig
        self.own = tuple(rig.minions)
        self.stock = StockMinions(rig, rig.directory / "stock")
        self.stock.start_gateway()
        self._more = dict(more or {})
        self._grains = {minion: dict(grains) for minion, grains in stock.items()}
        self.all = (*self.own, *stock)
        for minion in stock:
            self.start(minion)
        rig.wait("their keys", lambda: set(stock) <= set(rig.keys("pending")), patience=PATIENCE)
        for minion in stock:
            rig.saltern("key", "accept", minion)
        for minion in stock:
            self.wait_connected(minion)

    def start(self, minion: str) -> None:
        """Start a stock minion."""
        self.root(minion).mkdir(parents=True, exist_ok=True)
        grains = {"root": str(self.root(minion)), **self._grains[minion]}
        self.stock.start_minion(newest_venv(), minion, {"grains": grains, **self._more})

    def root(self, minion: str) -> Path:
        """Below which all that a minion of either kind manages lies."""
        return self.rig.root(minion) if minion in self.own else self.rig.directory / "managed" / minion

    def connected(self, minion: str) -> bool:
        """Whether the controller has it as connected."""
        return bool(self.rig.status().get(minion, {}).get("connected"))

    def wait_connected(self, minion: str, whether: bool = True) -> None:
        """Wait until a minion has come, or has left."""
        self.wait(f"{minion} connected: {whether}", lambda: self.connected(minion) is whether)

    def wait(self, what: str, condition: Callable[[], Any]) -> Any:
        """As `Rig.wait`, with the time that a stock minion may take, and what gateway and minions said at the end."""
        return self.stock.wait(what, condition, PATIENCE)

    def wait_applied(self, commit: str, *minions: str) -> None:
        """Wait until these (none: all) minions have applied a commit."""
        self.rig.wait_applied(commit, minions or self.all, patience=PATIENCE)

    def json(self, *words: str, code: int = 0) -> Any:
        """What a verb gives as JSON."""
        done = self.rig.saltern(*words, "--out", "json", check=False)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def events(self, tag: str) -> list[dict[str, Any]]:
        """Events of the last hour with this tag (a glob)."""
        lines = self.rig.saltern("events", tag, "--since", "1h", "--no-follow", "--out", "json").stdout.splitlines()
        return [json.loads(line) for line in lines]

    def write(self, files: Mapping[str, str], message: str = "files", *, branch: str = "main") -> str:
        """Write files into the clone and push what it has to a branch; the short commit."""
        for path, text in files.items():
            place = self.rig.work / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return self.rig.push(message, branch=branch)

    def stop(self) -> None:
        """End the gateway and the stock minions."""
        self.stock.__exit__(None, None, None)
