"""Durable events on their way to the reactors: read from the store in their order, and marked when they are answered.

They do not wait in memory: however many there are and however slow a reaction is, none is dropped, and what was not
answered when the controller ended is answered when it is started again. What had fired by then is not fired again: a
firing is on disk before anything is done, and names its event as its cause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import structlog

from controller.store import StoreError
from reactors.events import Event

log = structlog.get_logger("saltern.reactor")

SLS_FIRED = ""
"""Among the names of rules that have fired: the SLS of reactors have."""
_PAGE = 100
"""Events that are read at once."""
_AGAIN = 5.0
"""Seconds until the store is asked again that could not be read."""

AnswerEvent: TypeAlias = Callable[[Event, frozenset[str]], Awaitable[None]]


class EventTable(Protocol):
    """The store's events, as far as they are wanted here. Called in threads."""

    def unanswered(self, limit: int) -> list[Event]:
        """The first durable events that reactors have not looked at, oldest first."""

    def answered(self, ids: list[int]) -> None:
        """Reactors have looked at these."""

    def caused_by(self, causes: list[int]) -> list[Event]:
        """The events that follow directly from any of these."""


@dataclass(slots=True, kw_only=True)
class DurableEvents:
    """Those that reactors have not looked at."""

    table: EventTable
    begun: bool = False
    """Whether the trees are live, so that all reactors are known."""
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def look(self, *, trees: bool) -> None:
        """There may be some. `trees`: whether they are live; until then nothing is answered."""
        self.begun = self.begun or trees
        if self.begun:
            self._wake.set()

    async def answer_all(self, answer: AnswerEvent) -> None:
        """Answer all, and then those that come, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while page := await asyncio.to_thread(self.table.unanswered, _PAGE):
                    await self._answer(page, answer)
            except StoreError as error:
                log.error("durable events cannot be read or marked; tried again", error=str(error))
                await asyncio.sleep(_AGAIN)
                self._wake.set()

    async def _answer(self, page: list[Event], answer: AnswerEvent) -> None:
        """Answer some, and mark each when that is done."""
        done = await asyncio.to_thread(self._fired, page)
        for event in page:
            await answer(event, frozenset(done.get(event.id, ())))
        await asyncio.to_thread(self.table.answered, [event.id for event in page])

    def _fired(self, page: list[Event]) -> dict[int, set[str]]:
        """Id of an event -> what it has set off: names of rules, `SLS_FIRED`."""
        found: dict[int, set[str]] = {}
        for event in self.table.caused_by([each.id for each in page]):
            if event.tag.startswith("saltern/reaction/") and event.tag.endswith("/new"):
                found.setdefault(event.cause, set()).add(str(event.data.get("rule", SLS_FIRED)))
        return found
