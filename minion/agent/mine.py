"""What this minion has for others: collected in a child, kept in a file of the cache, sent whenever the file changes.

Part of the agent, which polls `readers`, calls `tick` at every turn, and tells of documents and of the connection. The
file may be written by anyone on this machine (`mine.send` in a run, `saltern call`): it is looked at, not asked for.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from minion.config.files import BadMinionSettings
from minion.processes import AgentPipe, Child
from wire.messages import Mine, MineEntry, ToController

log = logging.getLogger(__name__)

FILE = "mine.json"

MOST_BYTES = 1024 * 1024
"""Of the file; the controller takes no more either."""

DEFAULT_INTERVAL = 60.0
"""Minutes between collections (Salt's `mine_interval`)."""


def mine_minutes(opts: Mapping[str, Any]) -> float:
    """Between collections, as the configuration says; 0: none."""
    if opts.get("mine_enabled") is False:
        return 0.0
    given = opts.get("mine_interval", DEFAULT_INTERVAL)
    if isinstance(given, bool) or not isinstance(given, int | float) or given < 0:
        raise BadMinionSettings(f"mine_interval must be a number of minutes, not {given!r}")
    return float(given)


class MineKeeper:
    """When to collect, and what the controller knows already. Times are monotonic seconds."""

    def __init__(
        self,
        cachedir: Path,
        send: Callable[[ToController], bool],
        fork: Callable[[Callable[[AgentPipe], None]], Child],
        update: Callable[[], None],
        *,
        minutes: float,
    ) -> None:
        """`update` is called in a child: `mine.update`. `minutes`: between collections; 0: never by itself."""
        self._path = cachedir / FILE
        self._send = send
        self._fork = fork
        self._update = update
        self._seconds = minutes * 60
        self._child: Child | None = None
        self._functions: Any = None
        self._again = False
        self._sent: tuple[int, int, int] | None = None
        self.due_at = float("inf")

    def readers(self) -> list[int]:
        """The collecting child's socket, while there is one."""
        return [] if self._child is None else [self._child.fd]

    def functions(self, wanted: Any, now: float) -> None:
        """These are the `mine_functions` of configuration and pillar: collect, if they are others than before."""
        if wanted == self._functions:
            return
        self._functions = wanted
        self.due_at = now if any(wanted) and self._seconds else float("inf")

    def welcomed(self) -> None:
        """The controller may be another one: tell it all."""
        self._sent = None

    def tick(self, now: float, *, online: bool) -> None:
        """Do what is due."""
        if now >= self.due_at:
            self.due_at = now + self._seconds
            self._collect()
        if online:
            self._tell()

    def receive(self) -> None:
        """The child has ended."""
        if self._child is None:
            return
        _, ended = self._child.receive()
        if ended:
            code = self._child.reap()
            self._child = None
            if code:
                log.error("event=mine_not_collected exit_code=%s", code)
            if self._again:
                self._again = False
                self._collect()

    def _collect(self) -> None:
        if self._child is not None:
            self._again = True  # it may have begun with other functions
            return
        try:
            self._child = self._fork(lambda pipe: self._update())
        except OSError as error:
            log.error("event=mine_not_collected error=%s", error)

    def _tell(self) -> None:
        """Send the file, unless it is what was sent last."""
        try:
            status = self._path.stat()
        except OSError:
            return
        signature = (status.st_ino, status.st_mtime_ns, status.st_size)
        if signature == self._sent:
            return
        entries = self._read(status.st_size)
        if entries is None or self._send(Mine(entries=entries)):
            self._sent = signature

    def _read(self, size: int) -> dict[str, MineEntry] | None:
        if size > MOST_BYTES:
            log.error("event=mine_too_large bytes=%s most=%s not_sent=true", size, MOST_BYTES)
            return None
        try:
            return msgspec.convert(json.loads(self._path.read_bytes()), dict[str, MineEntry])
        except (OSError, ValueError) as error:
            log.error("event=mine_unreadable path=%s error=%s", self._path, error)
            return None
