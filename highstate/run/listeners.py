"""`listen` and `listen_in`: chunks that run last because another changed, and listeners on chunks that are missing.

Called by the runner at the end of a run. Follows salt/state.py `call_listen`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from highstate.run.requisites import Index, items
from highstate.run.triggers import listener_key
from highstate.types import Chunk, StateResult, Value


def due_listeners(
    chunks: Mapping[str, Chunk],
    index: Index,
    is_changed: Callable[[str], bool],
    *,
    known: Collection[str],
    pending_triggers: Collection[str],
) -> list[str]:
    """Keys of the chunks whose mod_watch follows, each once; none of those that are only `known`."""
    due: dict[str, None] = {}
    for key, chunk in chunks.items():
        if "listen" in chunk.arguments and key not in known:
            for item in items(chunk, "listen"):
                if any(is_changed(one) for one in index.find(item, key)):
                    due[key] = None
        if "listen_in" in chunk.arguments and is_changed(key):
            for item in items(chunk, "listen_in"):
                due.update(dict.fromkeys(one for one in index.find(item, key) if one not in known))
        if pending_triggers and key not in known and listener_key(chunk) in pending_triggers:
            due[key] = None
    return list(due)


def missing_listeners(
    chunks: Mapping[str, Chunk], index: Index, is_changed: Callable[[str], bool], known: Collection[str]
) -> dict[str, StateResult]:
    """Key → the failure of each typed item that names no state; of `listen_in` only where there is a change to tell.

    Salt leaves out bare texts that name nothing.
    """
    found: dict[str, StateResult] = {}
    for key, chunk in chunks.items():
        if key in known:
            continue
        listened = items(chunk, "listen")
        triggered = items(chunk, "listen_in") if "listen_in" in chunk.arguments and is_changed(key) else ()
        for item in (*listened, *triggered):
            for state, name in _missing(item, index):
                comment = f"Referenced state {state}: {name} does not exist"
                tag = f"Listen_Error_|-listen_{name}_|-listen_{state}_|-Listen_Error"
                found[tag] = StateResult(name=f"listen_{state}:{name}", result=False, comment=comment)
    return found


def _missing(item: Value, index: Index) -> Iterator[tuple[str, Value]]:
    for state, name in item.items() if isinstance(item, Mapping) else ():
        if name is not None and not index.find({state: name}, ""):
            yield state, name
