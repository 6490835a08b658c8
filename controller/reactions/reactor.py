"""Reactors at work: events of the bus are matched, their SLS rendered, and what they ask for is done.

One event after the other, in the order of the bus, so that the reactions about one minion keep their order. Each firing
leaves a trace of events, every one with its cause:

    the event -> saltern/reaction/ID/new -> what jobs and runners say, and saltern/reaction/ID/ret

Events that say what a reactor does are never answered themselves.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from controller.config.limits import ReactorLimits
from controller.observe.metrics import Metrics
from controller.reactions.actions import ReactionActions, StartedAction
from controller.reactions.messages import ReactorRequest, RenderedReactions
from controller.reactions.reactor_files import ReactorFiles, find_files
from controller.reactions.reactor_process import ReactorProcess
from controller.reconcile.jids import Jids
from controller.reconcile.live import LiveRevision
from highstate.compile_options import CompileOptions
from highstate.files import MemoryFiles
from highstate.types import Files
from reactors.bus import Bus, QueueBounds
from reactors.events import Event
from reactors.rules.loop_guard import LoopGuard
from reactors.rules.reaction import Parameters
from reactors.rules.reactor_map import ReactorEntry, ReactorMap, sls_of

log = structlog.get_logger("saltern.reactor")

OWN_TAGS = "saltern/reaction/"
_LIMITS = {"stream-events": "waiting-events", "stream-bytes": "waiting-bytes"}
"""What the bus calls the limits of a subscription -> what they are called here."""
_NO_TREE = MemoryFiles({"base": {}})
_MOST_TEXTS = 20
"""Errors and warnings of a firing in its event."""
_MOST_CHARACTERS = 2000
"""Of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorSettings:
    """What is configured, and what templates see of the controller's machine."""

    reactors: ReactorMap
    """Of the controller's file."""
    language: CompileOptions
    limits: ReactorLimits
    grains: Callable[[], Mapping[str, Any]]
    parameters: Callable[[], Mapping[tuple[str, str], Parameters]]


@dataclass(slots=True, kw_only=True)
class Reactor:
    """Answers the events of a bus."""

    settings: ReactorSettings
    bus: Bus
    live: LiveRevision
    process: ReactorProcess
    actions: ReactionActions
    guard: LoopGuard
    ids: Jids
    metrics: Metrics
    clock: Callable[[], float]
    _of_tree: ReactorMap = field(default_factory=ReactorMap)
    _all: ReactorMap | None = None

    def _reactors(self) -> ReactorMap:
        """Those of the controller's file, then those of the live tree, which change with it."""
        of_tree = self.live.policy.reactor
        if self._all is None or of_tree is not self._of_tree:
            self._of_tree = of_tree
            self._all = ReactorMap((*self.settings.reactors.entries, *of_tree.entries))
        return self._all

    async def run(self) -> None:
        """Answer events until cancelled."""
        limits = self.settings.limits
        with self.bus.subscribe_to(
            self._is_answered,
            bounds=QueueBounds(events=limits.waiting_events, size=limits.waiting_bytes),
            on_refusal=self._shed,
        ) as subscription:
            dropped = 0
            async for event in subscription:
                if subscription.dropped > dropped:
                    data = {"dropped": subscription.dropped - dropped, "since": event.time}
                    self.bus.publish(f"{OWN_TAGS}shed", data)
                    log.warning("events dropped that reactors would have answered", dropped=data["dropped"])
                    dropped = subscription.dropped
                try:
                    await self._answer(event)
                except (
                    Exception
                ) as error:  # the border of one event: a full disk or a broken tree ends no other reaction
                    self._failed(event, error)

    def _failed(self, event: Event, error: Exception) -> None:
        """Say that an event was not answered, or not wholly."""
        self.metrics.reaction_ended("failed")
        log.error("reactor: an event was not answered", tag=event.tag, exc_info=error)
        data = {"id": event.minion, "event": event.id, "tag": event.tag, "error": f"{type(error).__name__}: {error}"}
        self.bus.publish(f"{OWN_TAGS}error", data, cause=event.id)

    def _shed(self, limit: str) -> None:
        self.metrics.limit_refused("reactor", _LIMITS.get(limit, limit))

    def _is_answered(self, event: Event) -> bool:
        """Asked about every event of the bus."""
        self.guard.follow(event)
        return not event.tag.startswith(OWN_TAGS) and bool(self._reactors().matching(event.tag))

    async def _answer(self, event: Event) -> None:
        entries = self._allowed(event, self._reactors().matching(event.tag))
        if not entries:
            return
        began = self.clock()
        firing = self.ids.next()
        sls = sls_of(entries)
        about = {"id": event.minion, "event": event.id, "tag": event.tag, "sls": list(sls)}
        new = self.bus.publish(f"{OWN_TAGS}{firing}/new", about, cause=event.id, revision=self.live.digest)
        rules = tuple(entry.tag for entry in entries)
        self.guard.reacted(new.id, (*self.guard.follow(event), *rules))
        found: list[ReactorFiles] = []
        rendered = await self.process.render(partial(self._request, event, sls, found))
        done = [await self.actions.do(call, new.id) for call in rendered.reactions]
        problems = (*(problem for each in found for problem in each.problems), *rendered.problems)
        self._tell(firing, new, event, about, done, replace_problems(rendered, problems), self.clock() - began)

    def _request(self, event: Event, sls: Sequence[str], found: list[ReactorFiles]) -> ReactorRequest:
        """What the process has to render; looks for files, and so is made in a thread."""
        files: Files = self.live.trees.files if self.live.trees is not None else _NO_TREE
        found.append(find_files(sls, files))
        stamp = datetime.datetime.fromtimestamp(event.time, datetime.UTC).isoformat()
        return ReactorRequest(
            tree=found[0].tree,
            files=found[0].files,
            tag=event.tag,
            data={"_stamp": stamp, **event.data},
            language=self.settings.language,
            grains=self.settings.grains(),
            parameters=self.settings.parameters(),
        )

    def _allowed(self, event: Event, entries: Sequence[ReactorEntry]) -> list[ReactorEntry]:
        """Those entries that may answer; the others are said to be a loop."""
        chain = self.guard.follow(event)
        allowed = []
        for entry in entries:
            refusal = self.guard.refusal(entry.tag, event, chain, self.clock())
            if not refusal:
                allowed.append(entry)
                continue
            self.metrics.reaction_ended("loop")
            if self.guard.is_news(entry.tag, event):
                data = {"id": event.minion, "tag": event.tag, "rule": entry.tag, "place": entry.place, "error": refusal}
                self.bus.publish(f"{OWN_TAGS}loop", data, cause=event.id)
                log.error("reactor stopped: it answers what it causes", rule=entry.tag, place=entry.place, why=refusal)
        return allowed

    def _tell(
        self,
        firing: str,
        new: Event,
        event: Event,
        about: Mapping[str, Any],
        done: Sequence[StartedAction],
        rendered: RenderedReactions,
        seconds: float,
    ) -> None:
        """Publish what came of a firing."""
        errors = [str(each)[:_MOST_CHARACTERS] for each in rendered.problems]
        errors += [f"{each.id}: {each.error}" for each in done if each.error]
        outcome = "failed" if errors else "ok"
        data = {
            **about,
            "outcome": outcome,
            "reactions": [each.as_data() for each in done],
            "errors": errors[:_MOST_TEXTS],
            "warnings": [str(each)[:_MOST_CHARACTERS] for each in rendered.warnings][:_MOST_TEXTS],
            "seconds": round(seconds, 6),
        }
        self.bus.publish(f"{OWN_TAGS}{firing}/ret", data, cause=new.id)
        self.metrics.reaction_ended(outcome)
        if errors:
            log.warning("reaction failed", reaction=firing, tag=event.tag, errors=errors[:3])


def replace_problems(rendered: RenderedReactions, problems: Sequence[Any]) -> RenderedReactions:
    """The same with other problems."""
    return RenderedReactions(reactions=rendered.reactions, problems=tuple(problems), warnings=rendered.warnings)
