"""States for a stock minion as an SLS of its own: high data out of the chunks of a document.

The minion compiles and orders what it gets by itself, so requisites stand as they were written, and each state has the
order that it has under a master: by that and the requisites the minion sorts, each version in its own way. Of a part of
the states, requisites that name none of the others in it are left out: what they name was run before. Ids stand once,
so states that came of one `names` go back into it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from highstate.run.requisites import Index, items
from highstate.types import Chunk

_REQUISITES = frozenset(
    f"{kind}{suffix}"
    for kind in ("require", "watch", "onchanges", "onfail", "prereq")
    for suffix in ("", "_any", "_all")
    if (kind, suffix) not in {("prereq", "_any"), ("prereq", "_all")}
) | {"listen", "listen_in"}
_NOT_GIVEN = frozenset(("__prereq__", "__prerequired__", "__sls_included_from__", "__agg__"))
"""What Salt puts into chunks by itself."""


def state_file(chunks: Mapping[str, Chunk], keys: Collection[str]) -> bytes:
    """An SLS with these states of a document.

    Args:
        chunks: of the whole document, in their order.
        keys: of the states that are to run.
    """
    chosen = {key: chunk for key, chunk in chunks.items() if key in keys}
    index = Index(chosen)
    high: dict[str, dict[str, Any]] = {}
    named: dict[tuple[str, str], list[tuple[str, list[Any]]]] = {}
    for key, chunk in chosen.items():
        declared = high.setdefault(chunk.id, {"__sls__": chunk.sls, "__env__": chunk.saltenv})
        own = _arguments(key, chunk, index, whole=len(chosen) == len(chunks))
        named.setdefault((chunk.id, chunk.state), []).append((chunk.name, [chunk.fun, {"order": chunk.order}, *own]))
        declared.setdefault(chunk.state, [])
    for (identifier, state), entries in named.items():
        high[identifier][state] = _declaration(identifier, entries)
    return b"#!json\n" + json.dumps(high, default=str).encode()


def _declaration(identifier: str, entries: list[tuple[str, list[Any]]]) -> list[Any]:
    """A state of an id: its function and arguments; those of several names stand with each name."""
    if len(entries) == 1:
        name, arguments = entries[0]
        return [*arguments, *([] if name == identifier else [{"name": name}])]
    function = entries[0][1][0]
    return [function, {"names": [{name: arguments[1:]} for name, arguments in entries]}]


def _arguments(key: str, chunk: Chunk, index: Index, *, whole: bool) -> list[Any]:
    found = []
    for name, value in chunk.arguments.items():
        if name in _NOT_GIVEN:
            continue
        if name in _REQUISITES and not whole:
            kept = [item for item in items(chunk, name) if index.find(item, key)]
            if kept:
                found.append({name: kept})
            continue
        found.append({name: value})
    return found
