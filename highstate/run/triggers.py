"""Pending triggers: chunks that watch something that changed, and could not act on it.

Called by the runner at the end of a run. Salt forgets such a change: a service that failed to restart goes on with
its old configuration, because at the next run nothing changes any more. Here it is restarted then.
"""

from __future__ import annotations

from collections.abc import Mapping

from highstate.run.requisites import Index, changed, items
from highstate.types import Chunk, StateResult

_FOLLOWED = ("watch", "watch_any", "onchanges", "onchanges_any")


def listener_key(chunk: Chunk) -> str:
    """The key of what a chunk does because of `listen`."""
    return f"{chunk.state}_|-listener_{chunk.id}_|-{chunk.name}_|-mod_watch"


def pending_after(
    chunks: Mapping[str, Chunk],
    results: Mapping[str, StateResult],
    known: Mapping[str, StateResult],
    pending_triggers: frozenset[str],
    index: Index,
) -> tuple[frozenset[str], frozenset[str]]:
    """Triggers that a run with these results leaves pending, and those of `pending_triggers` that it has settled.

    Chunks outside of the run keep theirs.
    """
    after, named_in_listen_in = set(pending_triggers), _named_in_listen_in(chunks, results, index)
    more = set[str]()
    for key, chunk in chunks.items():
        if key in known:
            continue
        _settle(after, more, key, results.get(key), _saw_change(key, chunk, _FOLLOWED, results, index))
        listens = _saw_change(key, chunk, ("listen",), results, index) or key in named_in_listen_in
        own = listener_key(chunk)
        if listens or own in after:
            _settle(after, more, own, results.get(own), listens)
    return frozenset(more), frozenset(pending_triggers - after)


def triggered(chunks: Mapping[str, Chunk], index: Index) -> dict[str, set[str]]:
    """Key → the triggers that are pending once that chunk has changed something."""
    found: dict[str, set[str]] = {}
    for key, chunk in chunks.items():
        for kind in (*_FOLLOWED, "listen", "listen_in"):
            for item in items(chunk, kind):
                for named in index.find(item, key):
                    if kind == "listen_in":
                        found.setdefault(key, set()).add(listener_key(chunks[named]))
                    else:
                        found.setdefault(named, set()).add(listener_key(chunk) if kind == "listen" else key)
    return found


def _settle(after: set[str], more: set[str], key: str, result: StateResult | None, triggered: bool) -> None:
    if result is not None and result.result is True:
        after.discard(key)
    elif triggered:
        more.add(key)


def _saw_change(
    key: str, chunk: Chunk, kinds: tuple[str, ...], results: Mapping[str, StateResult], index: Index
) -> bool:
    named = (one for kind in kinds for item in items(chunk, kind) for one in index.find(item, key))
    return any(
        changed(results[one]) and not (kinds is _FOLLOWED and results[one].skip_req) for one in named if one in results
    )


def _named_in_listen_in(chunks: Mapping[str, Chunk], results: Mapping[str, StateResult], index: Index) -> set[str]:
    """Keys of those that a changed chunk names in its `listen_in`."""
    return {
        named
        for key, chunk in chunks.items()
        if "listen_in" in chunk.arguments and key in results and changed(results[key])
        for item in items(chunk, "listen_in")
        for named in index.find(item, key)
    }
