"""The grains that the agent sends and gives to its workers. A child collects them, so that psutil is not in memory.

Part of the agent. The last collection is kept in the cache, so that a restarted agent can send its Hello at once.
"""

from __future__ import annotations

import logging
import os
import select
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from minion.processes import AgentPipe, Child
from minion.spool.grains import keep_grains, kept_grains, pack_grains
from minion.spool.grains_request import take_request

log = logging.getLogger(__name__)

FIRST_TIMEOUT = 30.0
"""Seconds that the very first collection may take; without grains there is nothing to send in a Hello."""

Collector = Callable[[], Mapping[str, Any]]


class GrainsKeeper:
    """The grains of the last collection."""

    def __init__(
        self,
        cachedir: Path,
        collect: Collector,
        fork: Callable[[Callable[[AgentPipe], None]], Child],
        *,
        least: Mapping[str, Any],
    ) -> None:
        """`least`: grains that need no collection; used when it fails."""
        self._cachedir = cachedir
        self._collect = collect
        self._fork = fork
        self._child: Child | None = None
        self.collected = False
        self.grains: dict[str, Any] = dict(least)
        kept = kept_grains(cachedir)
        if kept:
            self.grains = kept
            self.collected = True

    def readers(self) -> list[int]:
        """The collecting child's socket, while there is one."""
        return [] if self._child is None else [self._child.fd]

    def take_request(self) -> bool:
        """Whether a collection was requested since the last time."""
        return take_request(self._cachedir)

    def refresh(self) -> None:
        """Start a collection, unless one is under way."""
        if self._child is None:
            self._child = self._fork(self._collect_in_child)

    def first(self) -> None:
        """Collect and wait: there are none of an earlier agent."""
        self.refresh()
        deadline = time.monotonic() + FIRST_TIMEOUT
        while self._child is not None and time.monotonic() < deadline:
            if select.select(self.readers(), [], [], deadline - time.monotonic())[0]:
                self.receive()

    def receive(self) -> bool:
        """Read from the child; True when the grains have changed."""
        if self._child is None:
            return False
        frames, ended = self._child.receive()
        changed = False
        for frame in frames:
            grains = msgspec.msgpack.decode(frame, type=dict[str, Any])
            self.collected = True
            if grains != self.grains:
                self.grains = grains
                self._keep(frame)
                changed = True
        if ended:
            code = self._child.reap()
            self._child = None
            if code:
                log.error("event=grains_not_collected exit_code=%s", code)
        return changed

    def _keep(self, packed: bytes) -> None:
        try:
            keep_grains(self._cachedir, packed)
        except OSError as error:
            log.error("event=grains_not_stored error=%s", error)

    def _collect_in_child(self, pipe: AgentPipe) -> None:
        agent = os.getppid()
        grains = dict(self._collect())
        if "pid" in grains:
            grains["pid"] = agent  # the child's own would be another one each time
        pipe.send(pack_grains(grains))
