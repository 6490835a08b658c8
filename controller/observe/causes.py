"""Why a minion ran or was compiled: the chain of events behind the newest run or compile, in an operator's words.

Called by the service for `saltern why`. Reads stored events and nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from controller.observe.run_text import short
from controller.schema.events import WhyStep
from controller.store import Store
from controller.store.events import Events
from reactors.events import Event

_NEWEST = ("saltern/run/%/new", "saltern/compile/%")
_MOST_STEPS = 100
_MOST_LEVELS = 20
"""From a run up to what began it, and down to what followed, where the chains of many runs are read together."""
_MOST_EVENTS = 20_000
"""That are read for the chains of many runs."""
_MOST_BEGINNINGS = 5_000


def chain(events: Events, minion: str) -> list[Event]:
    """The events that led to the newest run or compile of a minion, and those that follow from it, oldest first."""
    newest = events.newest(minion, _NEWEST)
    return [] if newest is None else _chain_from(events, newest, minion)


def chain_of_run(events: Events, minion: str, run_id: str) -> list[Event]:
    """The same of one run."""
    begun = events.newest(minion, [f"saltern/run/{run_id}/new"])
    return [] if begun is None else _chain_from(events, begun, minion)


def chains_of_runs(events: Events, runs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Event]]:
    """The same of many runs (minion and run id), by a query for each level of all their chains together.

    Runs whose events are gone are left out; beyond `_MOST_EVENTS` chains end early.
    """
    minions = {minion for minion, _ in runs}
    if not minions:
        return {}
    tags = {f"saltern/run/{run_id}/new" for _, run_id in runs}
    begun: dict[tuple[str, str], Event] = {}
    for event in events.of_minions(minions, tags, _MOST_BEGINNINGS):
        begun.setdefault((event.minion, event.tag.split("/")[2]), event)
    wanted = {run: begun[run] for run in runs if run in begun}
    known = _with_causes(events, {event.id: event for event in wanted.values()})
    following = _following(events, {event.id for event in wanted.values()}, minions, _MOST_EVENTS - len(known))

    def below(causes: Iterable[int], minion: str) -> list[Event]:
        return [event for cause in causes for event in following.get(cause, ()) if event.minion == minion]

    return {run: _around(known.get, below, event, run[0]) for run, event in wanted.items()}


def _with_causes(events: Events, known: dict[int, Event]) -> dict[int, Event]:
    """These events and what is above them, by their ids."""
    for _ in range(_MOST_LEVELS):
        above = {event.cause for event in known.values() if event.cause} - known.keys()
        found = events.several(above) if above and len(known) < _MOST_EVENTS else ()
        if not found:
            break
        known = known | {event.id: event for event in found}
    return known


def _following(events: Events, causes: set[int], minions: Iterable[str], most: int) -> dict[int, list[Event]]:
    """What follows from these events, by the ids of what it follows from directly."""
    found: dict[int, list[Event]] = defaultdict(list)
    seen = set(causes)
    for _ in range(_MOST_LEVELS):
        level = [event for event in events.caused_by(causes, *minions) if event.id not in seen]
        for event in level[: max(0, most)]:
            found[event.cause].append(event)
        most -= len(level)
        causes = {event.id for event in level}
        seen |= causes
        if not causes or most <= 0:
            break
    return found


def _chain_from(events: Events, newest: Event, minion: str) -> list[Event]:
    return _around(events.get, events.caused_by, newest, minion)


def _around(
    get: Callable[[int], Event | None],
    caused_by: Callable[[list[int], str], Sequence[Event]],
    newest: Event,
    minion: str,
) -> list[Event]:
    found = {newest.id: newest}
    above: Event | None = newest
    while above is not None and above.cause and above.cause not in found and len(found) < _MOST_STEPS:
        above = get(above.cause)
        if above is not None:
            found[above.id] = above
    below = [newest.id]
    while below and len(found) < _MOST_STEPS:
        following = [event for event in caused_by(below, minion) if event.id not in found]
        found |= {event.id: event for event in following}
        below = [event.id for event in following]
    return [found[event_id] for event_id in sorted(found)]


def steps_of(store: Store, minion: str) -> Iterator[WhyStep]:
    """The chain as people read it."""
    return steps_of_events(store, chain(store.events, minion))


def steps_of_events(store: Store, events: Iterable[Event]) -> Iterator[WhyStep]:
    """Events as people read them, with what failed."""
    for event in events:
        failed = _is("salt/job/*/ret/*", event.tag)
        run = str(event.data.get("run") or event.data.get("jid"))
        yield step_of(event, failures(store.runs.result(run)) if failed else ())


def failures(result: Any) -> Iterator[str]:
    """What each failed state of a run's result says, and the SLS that it is from."""
    for key, entry in ((result or {}).get("states") or {}).items():
        if entry.get("result") is False:
            comment = next(iter(str(entry.get("comment", "")).splitlines()), "")
            where = f" ({entry['__sls__']})" if entry.get("__sls__") else ""
            yield f"{short(key)}{where}: {comment}"


def step_of(event: Event, more: Iterable[str] = ()) -> WhyStep:
    """An event as people read it; `more`: details to add."""
    kind, lines = "event", [event.tag]
    for pattern, (word, say) in _WORDS.items():
        if _is(pattern, event.tag):
            kind, lines = word, say(event.data)
    text, *details = lines
    return WhyStep(
        id=str(event.id),
        cause=str(event.cause) if event.cause else "",
        tag=event.tag,
        time=event.time,
        step=kind,
        text=text,
        details=(*details, *more),
        revision=event.revision,
    )


def _is(pattern: str, tag: str) -> bool:
    """Whether a tag has the parts of a pattern; `*` is any part."""
    wanted, parts = pattern.split("/"), tag.split("/")
    return len(wanted) == len(parts) and all(each in ("*", part) for each, part in zip(wanted, parts, strict=True))


_Data = Mapping[str, Any]


def _user(data: _Data) -> str:
    """Who asked; `a person` where that is not known."""
    return str(data.get("user") or "a person")


def _hook(data: _Data) -> list[str]:
    remote = data.get("remote") or "all remotes"
    return [f"{data['user']}: saltern remote fetch, {remote}" if data.get("user") else f"a webhook named {remote}"]


def _fetched(data: _Data) -> list[str]:
    return [f"remote {data.get('remote')} brought something new"]


def _live(data: _Data) -> list[str]:
    moved = data.get("moved") or [data]
    several = len(moved) > 1 or (data.get("sources", 1) > 1 and moved != [data])
    lines = [line for place in moved for line in _commit(place, of_several=several)]
    return lines if data.get("commit") else [str(data.get("subject", ""))]


def _commit(place: _Data, *, of_several: bool) -> list[str]:
    author = f" by {place['author']}" if place.get("author") else ""
    remote = f"{place.get('remote')}: " if of_several else ""
    return [f"{remote}commit {str(place.get('commit', ''))[:12]}{author}", str(place.get("subject", ""))]


def _refused(data: _Data) -> list[str]:
    return ["the revision was refused", *str(data.get("error", "")).splitlines()]


def _compiled(data: _Data) -> list[str]:
    return [f"compiled in {data.get('seconds', 0.0):.2f} s: generation {data.get('generation')}"]


def _not_compiled(data: _Data) -> list[str]:
    errors = [line for error in data.get("errors", ()) for line in str(error).splitlines()]
    return ["does not compile; the last good state stays", *errors]


def _due(data: _Data) -> list[str]:
    return [str(data.get("why", ""))]


def _connected(data: _Data) -> list[str]:
    return ["the minion connected"]


def _grains(data: _Data) -> list[str]:
    return ["the minion's grains changed"]


def _facts(data: _Data) -> list[str]:
    return ["what templates asked of the minion gave other answers"]


def _mine(data: _Data) -> list[str]:
    return [f"the mine of {data.get('id')} changed"]


def _key(data: _Data) -> list[str]:
    return [f"key of {data.get('id')}: {data.get('act')}" + (f" by {data['user']}" if data.get("user") else "")]


def _gone(data: _Data) -> list[str]:
    return [f"{data.get('id')} disconnected: {data.get('why')}"]


def _sync(data: _Data) -> list[str]:
    words = [f"--{name}" for name in ("whole", "test") if data.get(name)]
    return [f"{_user(data)}: {' '.join(['saltern sync', str(data.get('target', '')), *words])}"]


def _resumed(data: _Data) -> list[str]:
    return [f"{_user(data)}: saltern resume"]


def _paused(data: _Data) -> list[str]:
    return [f"{_user(data)}: saltern pause"]


def _held(data: _Data) -> list[str]:
    return [f"pull request {data.get('pull')} is applied before its merge, at {str(data.get('head', ''))[:12]}"]


def _released(data: _Data) -> list[str]:
    return [f"pull request {data.get('pull')} is taken back", str(data.get("why", ""))]


def _pull_applied(data: _Data) -> list[str]:
    return [f"{_user(data)}: /saltern apply on {data.get('project')}#{data.get('number')}"]


def _rollout(data: _Data) -> list[str]:
    what = f"rollout {data.get('id')} of {data.get('revision')}: {data.get('phase')}"
    if "wave" in data:
        what = f"rollout {data.get('id')}: {data['wave']}{' (canary)' if data.get('canary') else ''} is released"
    user, why = str(data.get("user") or ""), str(data.get("why") or "")
    return [what, *([f"by {user}"] if user and user not in why else []), *([why] if why else [])]


def _rolled_back(data: _Data) -> list[str]:
    why = [str(data["why"])] if data.get("why") else []
    return [f"{_user(data)}: {data.get('revision')} is taken back to {data.get('back_to')}", *why]


def _run(data: _Data) -> list[str]:
    count = data.get("states")
    what = "the whole highstate" if count == "all" else f"{count} state{'' if count == 1 else 's'}"
    plan = str(data.get("plan") or "")
    return [f"{data.get('kind')} of {what}, run {data.get('run')}", *([plan] if plan else [])]


def _remediated(data: _Data) -> list[str]:
    return [f"run {data.get('run')}, {data.get('cause')}"]


def _started(data: _Data) -> list[str]:
    return ["the minion began"]


def _lost(data: _Data) -> list[str]:
    return ["no result came; the run counts as failed"]


def _result(data: _Data) -> list[str]:
    counts = f"{data.get('changes', 0)} changed, {data.get('failed', 0)} failed"
    return [f"{data.get('kind')}: {data.get('outcome')}, {counts}", *str(data.get("error") or "").splitlines()]


def _applied(data: _Data) -> list[str]:
    return [f"generation {data.get('generation')} is applied"]


_WORDS: dict[str, tuple[str, Callable[[_Data], list[str]]]] = {
    "saltern/hook": ("push", _hook),
    "saltern/remote/*/fetched": ("fetch", _fetched),
    "saltern/revision/*/live": ("revision", _live),
    "saltern/revision/*/refused": ("revision", _refused),
    "saltern/compile/*/due": ("age", _due),
    "saltern/compile/*/ok": ("compile", _compiled),
    "saltern/compile/*/error": ("compile", _not_compiled),
    "salt/minion/*/start": ("connect", _connected),
    "saltern/minion/*/gone": ("connect", _gone),
    "saltern/minion/*/grains": ("grains", _grains),
    "saltern/minion/*/facts": ("facts", _facts),
    "saltern/minion/*/mine": ("mine", _mine),
    "salt/key": ("key", _key),
    "saltern/sync": ("request", _sync),
    "saltern/minion/*/resumed": ("request", _resumed),
    "saltern/minion/*/paused": ("request", _paused),
    "saltern/rollout/*/*": ("rollout", _rollout),
    "saltern/revision/*/rolled-back": ("revision", _rolled_back),
    "saltern/minion/*/held": ("request", _held),
    "saltern/minion/*/released": ("request", _released),
    "saltern/pull/*/applied": ("request", _pull_applied),
    "saltern/run/*/new": ("run", _run),
    "saltern/minion/*/remediated": ("run", _remediated),
    "saltern/run/*/started": ("start", _started),
    "saltern/run/*/lost": ("result", _lost),
    "salt/job/*/ret/*": ("result", _result),
    "saltern/minion/*/applied": ("applied", _applied),
}
