"""The loop over pull requests: a queue and a worker for each forge, so that one that hangs delays only itself.

A webhook, a poll, a preview that ended and a timer all put a pull request into the queue of its forge, once however
often; what is true is then asked of the forge. Started by `controller.app`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import structlog

from controller.config.limits import PullRequestLimits
from controller.forges.client import ForgeError, ForgeRefused, ForgeUnavailable, PullRequest
from controller.forges.pull_hints import same_project
from controller.observe.pull_metrics import PullMetrics
from controller.pull_requests.look import LookedForge, LookParts, PullLook
from controller.pull_requests.preview_queue import PreviewQueue, PullKey
from controller.pull_requests.views import key_of, pull_view
from controller.pull_requests.wanted_previews import again_at, base_moved
from controller.reconcile.holds import PullHolds, pull_name
from controller.reconcile.queue import WorkQueue
from controller.schema.errors import ServiceError
from controller.schema.pulls import PullView
from controller.store import HoldRecord, StoreError
from controller.store.pull_requests import PullRecord
from options.limits import CountRefusal
from reactors.bus import Bus

log = structlog.get_logger("saltern.pulls")

FIRST_SECONDS = 1.0
"""Until a forge that cannot be reached is asked again; doubles."""
LAST_SECONDS = 300.0
REFUSED_SECONDS = 600.0
"""Until a forge is asked again for what it refused: somebody has to change something first."""
LIVE_SECONDS = 0.5
"""After a start: until it is looked again whether any trees are live."""
_JITTER = 0.1
_POLL = "poll "


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedForge:
    """A forge and what is watched there."""

    name: str
    forge: LookedForge
    projects: tuple[str, ...]
    poll_interval: float
    """Seconds between two polls of a project; 0: never, webhooks alone."""


class ForgeWorker:
    """Looks at the pull requests of one forge, one after the other.

    Args:
        watched: the forge.
        parts: what all looks share.
        metrics: of pull requests.
        limits: of pull requests.
        on_refusal: see `options.limits.CountRefusal`.
    """

    def __init__(
        self,
        watched: WatchedForge,
        parts: LookParts,
        metrics: PullMetrics,
        limits: PullRequestLimits,
        on_refusal: CountRefusal,
    ) -> None:
        self._watched = watched
        self._parts = parts
        self._metrics = metrics
        self._most_hints = limits.hints
        self._look_seconds = limits.look_seconds
        self._again_seconds = limits.again_seconds
        self._on_refusal = on_refusal
        self._queue = WorkQueue(parts.clock)
        self._hinted: set[str] = set()
        self._failures = 0
        """Answers in a row that did not come."""

    async def run(self) -> None:
        """Look until cancelled."""
        records = self._parts.records.store.pull_requests.all(unsettled_only=True)
        self._queue.add(_name(each) for each in records if each.forge == self._watched.name)
        self._queue.add(_POLL + project for project in self._watched.projects if self._watched.poll_interval > 0)
        while True:
            due = await self._queue.take()
            self._hinted -= due
            for name in sorted(due, key=lambda each: (each.startswith(_POLL), each)):
                await self._attempt(name)

    def hint(self, project: str, number: int) -> bool:
        """A webhook says that something happened; whether the project is watched here."""
        known = next((each for each in self._watched.projects if same_project(each, project)), None)
        if known is None:
            return False
        if len(self._hinted) >= self._most_hints:
            self._on_refusal("hints")
            return True
        key = f"{known}#{number}"
        self._hinted.add(key)
        self._queue.add([key])
        return True

    def look_at(self, key: PullKey) -> None:
        """Look at a pull request soon."""
        self._queue.add([f"{key.project}#{key.number}"])

    def views(self) -> list[PullView]:
        """The open pull requests of this forge, as they were left after the last look at each; the newest first."""
        base, forge, previews = self._parts.base(), self._watched.forge, self._parts.previews
        records = self._parts.records.store.pull_requests.all(unsettled_only=True)
        holds = self._parts.holds.all()
        return [
            pull_view(
                each,
                forge.rules_of(each.project),
                previews.running(key_of(each)),
                base,
                previews.turn(key_of(each)),
                holds,
            )
            for each in records
            if each.forge == self._watched.name and each.state == "open"
        ]

    def unapply(self, holds: Sequence[HoldRecord], why: str, *, whole: bool) -> None:
        """Have minions go back from a pull request to what is live.

        Args:
            holds: of one pull request.
            why: is told there.
            whole: whether these are all that hold it, so that it is not applied any more.
        """
        key = PullKey(holds[0].forge, holds[0].project, holds[0].number)
        if whole:
            self._parts.endings[key] = why
        self._parts.holds.release(holds, why)
        self.look_at(key)

    def base_moved(self) -> None:
        """Other trees are live: look at the open pull requests whose reports are about those before."""
        base = self._parts.base()
        for record in self._parts.records.store.pull_requests.all(unsettled_only=True):
            if record.forge == self._watched.name and record.state == "open" and base_moved(record, base):
                self._queue.add_by(_name(record), again_at(record, self._again_seconds))

    async def close(self) -> None:
        """End the connections to the forge."""
        await self._watched.forge.client.close()

    async def _attempt(self, name: str) -> None:
        """Look at what a name of the queue stands for; what fails is done later."""
        try:
            async with asyncio.timeout(self._look_seconds):
                await (self._poll(name.removeprefix(_POLL)) if name.startswith(_POLL) else self._look(name))
        except (ForgeError, StoreError, TimeoutError) as error:
            self._again(name, error)
        except Exception as error:  # the border of the task: one pull request does not end the others
            log.error("pull requests: internal error", forge=self._watched.name, what=name, exc_info=error)
            self._metrics.looked(self._watched.name, "error")
            self._queue.add_at(name, self._parts.clock() + REFUSED_SECONDS)
        else:
            self._failures = 0
            self._metrics.looked(self._watched.name, "done")

    async def _look(self, name: str) -> None:
        if not self._parts.base():  # nothing is live yet, so that nobody knows what the base allows
            self._queue.add_at(name, self._parts.clock() + LIVE_SECONDS)
            return
        project, _, number = name.rpartition("#")
        key = PullKey(self._watched.name, project, int(number))
        again = await PullLook(self._parts, self._watched.forge, key).run()
        if again is not None:
            self._queue.add_at(name, again)

    async def _poll(self, project: str) -> None:
        """Put what is new into the queue, and what is not open any more."""
        pulls = await self._watched.forge.client.open_pull_requests(project)
        kept = self._parts.records.store.pull_requests.all()
        known = {each.number: each for each in kept if (each.forge, each.project) == (self._watched.name, project)}
        new = [each.number for each in pulls if _may_have_changed(known.get(each.number), each)]
        listed = {each.number for each in pulls}
        gone = [number for number, each in known.items() if each.state == "open" and number not in listed]
        self._queue.add(f"{project}#{number}" for number in (*new, *gone))
        self._queue.add_at(_POLL + project, self._parts.clock() + self._watched.poll_interval * _spread())

    def _again(self, name: str, error: Exception) -> None:
        """Later: soon and less and less often when the forge does not answer, and late when it refuses."""
        refused = isinstance(error, ForgeRefused)
        self._metrics.looked(self._watched.name, "refused" if refused else "unavailable")
        wait = REFUSED_SECONDS
        if not refused:
            self._failures += 1
            wait = min(LAST_SECONDS, FIRST_SECONDS * 2 ** min(self._failures - 1, 10))
        if isinstance(error, ForgeUnavailable):
            wait = max(wait, error.retry_after)
        text = str(error) or f"no end within {self._look_seconds:g} s"
        log.warning("pull requests: tried again later", forge=self._watched.name, what=name, error=text, wait=wait)
        self._queue.add_at(name, self._parts.clock() + wait * _spread())


class PullRequests:
    """All forges whose pull requests are previewed.

    Args:
        workers: forge -> its worker.
        previews: of all forges.
        bus: says when other trees are live.
        holds: what minions hold of them.
    """

    def __init__(self, workers: Mapping[str, ForgeWorker], previews: PreviewQueue, bus: Bus, holds: PullHolds) -> None:
        self._workers = workers
        self._previews = previews
        self._bus = bus
        self._holds = holds

    async def run(self) -> None:
        """Look at pull requests until cancelled; then previews end, and connections to forges."""
        try:
            await self._holds.restore()
            async with asyncio.TaskGroup() as group:
                for name, worker in self._workers.items():
                    group.create_task(worker.run(), name=f"pulls {name}")
                if self._workers:
                    group.create_task(self._follow_base(), name="pulls base")
        finally:
            await self._previews.close()
            for worker in self._workers.values():
                await worker.close()

    def views(self) -> list[PullView]:
        """The open pull requests of all forges."""
        return [view for worker in self._workers.values() for view in worker.views()]

    def unapply(self, name: str, minions: Collection[str] | None, user: str) -> list[str]:
        """Have minions go back from a pull request to what is live; their ids.

        Args:
            name: `PROJECT#NUMBER`, or with the forge before it: `FORGE:PROJECT#NUMBER`.
            minions: those of them that are meant; None: all that hold it.
            user: who says so.

        Raises:
            ServiceError: nobody holds it, or pull requests of several forges have this name.
        """
        named = [each for each in self._holds.all() if name in (pull_name(each), pull_name(each).partition(":")[2])]
        chosen = [each for each in named if minions is None or each.minion in minions]
        if not chosen:
            hint = "`saltern pulls` shows what is held"
            raise ServiceError("not-found", f"no minion {'that is meant ' if named else ''}holds {name}", hint=hint)
        if len({each.forge for each in named}) > 1:
            hint = "write " + " or ".join(sorted({pull_name(each) for each in named}))
            raise ServiceError("conflict", f"{name} is held of several forges", hint=hint)
        why = f"saltern unapply by {user or 'somebody'}"
        worker = self._workers.get(chosen[0].forge)
        if worker is None:  # its forge is not configured any more
            self._holds.release(chosen, why)
        else:
            worker.unapply(chosen, why, whole=len(chosen) == len(named))
        return [each.minion for each in chosen]

    async def _follow_base(self) -> None:
        with self._bus.subscribe("saltern/revision/*/live") as revisions:
            async for _ in revisions:
                for worker in self._workers.values():
                    worker.base_moved()

    def hint(self, project: str, number: int) -> bool:
        """A webhook says that something happened to a pull request; whether any forge is watched that may have it."""
        return sum(worker.hint(project, number) for worker in self._workers.values()) > 0


def _name(record: PullRecord) -> str:
    return f"{record.project}#{record.number}"


def _may_have_changed(known: PullRecord | None, now: PullRequest) -> bool:
    """Whether a listed pull request is looked at; always where the forge does not say when it changed last."""
    return known is None or not now.updated or known.updated != now.updated


def _spread() -> float:
    return random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  (times, no secret)
