"""What reactors did, from the events that are kept: nothing else remembers it. Called in threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller.reactions.reactor import OWN_TAGS
from controller.schema.events import EventView
from controller.schema.reactions import ReactionsQuery, ReactionTrace, ReactionView
from controller.store.events import Events
from reactors.events import Event

_MOST_STEPS = 500


def recent(events: Events, query: ReactionsQuery) -> list[ReactionView]:
    """The newest reactions that are meant, newest first; none when `before` is no reaction that is still kept."""
    before = 0
    if query.before:
        if (first := _begun(events, query.before)) is None:
            return []
        before = first.id
    begun = events.tagged([f"{OWN_TAGS}%/new"], query.limit, minion=query.minion, before=before, aside=True)
    ended = {event.cause: event for event in events.caused_by([event.id for event in begun]) if _is_end(event)}
    return [_view(event, ended.get(event.id)) for event in begun]


def trace(events: Events, reaction_id: str) -> ReactionTrace | None:
    """A reaction with all that followed from it; None when there is none with this id, or it is too long ago."""
    begun = _begun(events, reaction_id)
    if begun is None:
        return None
    above = events.get(begun.cause)
    steps = {event.id: event for event in (above, begun) if event is not None}
    below: Sequence[int] = [begun.id]
    while below and len(steps) < _MOST_STEPS:
        following = [event for event in events.caused_by(below) if event.id not in steps]
        steps |= {event.id: event for event in following[: _MOST_STEPS - len(steps)]}
        below = [event.id for event in following]
    end = next((event for event in steps.values() if event.cause == begun.id and _is_end(event)), None)
    return ReactionTrace(
        reaction=_view(begun, end), steps=tuple(view_of(steps[event_id]) for event_id in sorted(steps))
    )


def _begun(events: Events, reaction_id: str) -> Event | None:
    found = events.tagged([f"{OWN_TAGS}{reaction_id}/new"], 1, aside=True) if reaction_id.isalnum() else []
    return found[0] if found else None


def view_of(event: Event) -> EventView:
    """An event as people get it."""
    return EventView(
        id=str(event.id),
        tag=event.tag,
        time=event.time,
        cause=str(event.cause) if event.cause else "",
        minion=event.minion,
        revision=event.revision,
        data=dict(event.data),
    )


def _is_end(event: Event) -> bool:
    return event.tag.startswith(OWN_TAGS) and event.tag.endswith("/ret")


def _view(begun: Event, ended: Event | None) -> ReactionView:
    data: dict[str, Any] = {**begun.data, **(ended.data if ended is not None else {})}
    return ReactionView(
        id=begun.tag.removeprefix(OWN_TAGS).removesuffix("/new"),
        time=begun.time,
        event=str(data.get("event", "")),
        tag=str(data.get("tag", "")),
        minion=begun.minion,
        outcome=str(data.get("outcome", "")),
        rule=str(data.get("rule", "")),
        sls=tuple(data.get("sls", ())),
        reactions=tuple(data.get("reactions", ())),
        errors=tuple(data.get("errors", ())),
        warnings=tuple(data.get("warnings", ())),
        seconds=float(data.get("seconds", 0.0)),
    )
