"""The mine of this minion: collected in a child, kept in a file of the cache, sent whenever the file changes.

Part of the agent, which polls `readers`, calls `tick` at every turn, and says when functions or the connection change.
The file may also be written by a run (`mine.send`) or `saltern call`: its status is compared at every tick.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from minion.processes import AgentPipe, Child
from wire.messages import Mine, MineEntry, ToController

log = logging.getLogger(__name__)

FILE = "mine.json"

MOST_BYTES = 1024 * 1024
"""Of the file; the controller takes no more either."""


class MineKeeper:
    """When to collect, and which version of the file was sent. Times are monotonic seconds."""

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
        self._wanted_functions: Any = None
        self._collect_again = False
        self._sent_version: tuple[int, int, int] | None = None
        self.due_at = float("inf")

    def readers(self) -> list[int]:
        """The collecting child's socket, while there is one."""
        return [] if self._child is None else [self._child.fd]

    def follow(self, wanted: Any, now: float) -> None:
        """Collect these `mine_functions` (of configuration and pillar) from now on, at once if they are new."""
        if wanted == self._wanted_functions:
            return
        self._wanted_functions = wanted
        self.due_at = now if any(wanted) and self._seconds else float("inf")

    def connected(self) -> None:
        """There is a new session: send the file again."""
        self._sent_version = None

    def tick(self, now: float, *, online: bool) -> None:
        """Do what is due."""
        if now >= self.due_at:
            self.due_at = now + self._seconds
            self._collect()
        if online:
            self._send_file()

    def receive(self) -> None:
        """The child's socket is readable: it has ended."""
        if self._child is None:
            return
        _, ended = self._child.receive()
        if ended:
            code = self._child.reap()
            self._child = None
            if code:
                log.error("event=mine_not_collected exit_code=%s", code)
            if self._collect_again:
                self._collect_again = False
                self._collect()

    def _collect(self) -> None:
        if self._child is not None:
            self._collect_again = True  # it may have started with other functions
            return
        try:
            self._child = self._fork(lambda pipe: self._update())
        except OSError as error:
            log.error("event=mine_not_collected error=%s", error)

    def _send_file(self) -> None:
        """Send the file, unless it is what was sent last."""
        try:
            status = self._path.stat()
        except OSError:
            return
        signature = (status.st_ino, status.st_mtime_ns, status.st_size)
        if signature == self._sent_version:
            return
        entries = self._read(status.st_size)
        if entries is None or self._send(Mine(entries=entries)):
            self._sent_version = signature

    def _read(self, size: int) -> dict[str, MineEntry] | None:
        if size > MOST_BYTES:
            log.error("event=mine_too_large bytes=%s most=%s not_sent=true", size, MOST_BYTES)
            return None
        try:
            return msgspec.convert(json.loads(self._path.read_bytes()), dict[str, MineEntry])
        except (OSError, ValueError) as error:
            log.error("event=mine_unreadable path=%s error=%s", self._path, error)
            return None
