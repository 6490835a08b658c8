"""The loop over pull requests: a queue and a worker for each forge, so that one that hangs delays only itself.

A webhook, a poll, a preview that ended and a timer all put a pull request into the queue of its forge, once however
often; what is true is then asked of the forge. Started by `controller.app`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import structlog

from controller.forges.client import ForgeError, ForgeUnavailable
from controller.forges.forge import same_project
from controller.observe.metrics import Metrics
from controller.pull_requests.look import Forge, Parts, PullLook
from controller.pull_requests.preview_queue import Finished, PullKey
from controller.reconcile.queue import WorkQueue
from controller.store.pull_requests import PullRecord

log = structlog.get_logger("saltern.pulls")

FIRST_SECONDS = 5.0
"""Until a forge that cannot be reached is asked again; doubles."""
LAST_SECONDS = 300.0
REFUSED_SECONDS = 600.0
"""Until a forge is asked again for what it refused: somebody has to change something first."""
_JITTER = 0.1
_POLL = "poll "


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedForge:
    """A forge and what is watched there."""

    name: str
    forge: Forge
    projects: tuple[str, ...]
    poll_interval: float
    """Seconds between two polls of a project; 0: never, webhooks alone."""


class ForgeWorker:
    """Looks at the pull requests of one forge, one after the other.

    Args:
        watched: the forge.
        parts: what all looks share.
        metrics: of the controller.
        hints: how many pull requests may wait that webhooks say something of.
        look_seconds: that a look may take.
    """

    def __init__(
        self, watched: WatchedForge, parts: Parts, metrics: Metrics, *, hints: int, look_seconds: float
    ) -> None:
        self._watched = watched
        self._parts = parts
        self._metrics = metrics
        self._most_hints = hints
        self._look_seconds = look_seconds
        self._queue = WorkQueue(parts.clock)
        self._hinted: set[str] = set()
        self._failures = 0
        """Answers in a row that did not come."""

    async def run(self) -> None:
        """Look until cancelled."""
        records = self._parts.records.store.pull_requests.all(unsettled_only=True)
        self.add(each.number for each in records if each.forge == self._watched.name for _ in (0,))
        self._queue.add(_key_of(each) for each in records if each.forge == self._watched.name)
        self._queue.add(_POLL + project for project in self._watched.projects if self._watched.poll_interval > 0)
        while True:
            due = await self._queue.take()
            self._hinted -= due
            for key in sorted(due, key=lambda each: (each.startswith(_POLL), each)):
                await self._attempt(key)

    def hint(self, project: str, number: int) -> bool:
        """A webhook says that something happened; whether the project is watched here."""
        known = next((each for each in self._watched.projects if same_project(each, project)), None)
        if known is None:
            return False
        if len(self._hinted) >= self._most_hints:
            self._metrics.limit_refused("pull_request", "hints")
            return True
        key = f"{known}#{number}"
        self._hinted.add(key)
        self._queue.add([key])
        return True

    def look_at(self, key: PullKey) -> None:
        """Look at a pull request soon."""
        self._queue.add([f"{key.project}#{key.number}"])
