"""What the check after a push would find, foretold in a preview. Called by `minion.worker.executor`.

The whole document is planned on the machine as the foretold run leaves it. A state whose content a preview does not
read may be as it is live, and not of this run: then a drift check of the live document says whether it differs now,
as it would say it anyway. That it differs is told, and nothing of what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from highstate.desired import Desired
from highstate.run.report import as_running
from highstate.types import Chunk, StateResult
from minion.worker.preview_sandbox import UNREAD

DIFFERS = "It differs on the machine from what the live state makes"

DriftCheck = Callable[[Collection[str]], Mapping[str, StateResult]]
"""Plans these states of the live document, all others left out."""


def found_after(
    desired: Desired,
    results: Mapping[str, StateResult],
    ran: Collection[str],
    live: Desired,
    check: DriftCheck,
) -> dict[str, dict[str, Any]]:
    """What would still have something to do, by key.

    Args:
        desired: the document of the preview.
        results: of its whole plan after the foretold run.
        ran: keys of that run.
        live: the document that the minion holds.
        check: is asked for states of it whose content the preview did not read.
    """
    pending = {key: result for key, result in results.items() if result.result is None}
    unread = {
        key
        for key, result in pending.items()
        if key not in ran and _is_unread(result) and _same(desired.chunks[key], live.chunks.get(key))
    }
    now = check(unread) if unread else {}
    for key in unread:
        told = now[key].result if key in now else None
        if told is True:
            del pending[key]
        elif told is None and key in now:
            pending[key] = StateResult(name=pending[key].name, result=None, comment=DIFFERS)
    return as_running(desired.chunks, pending)


def _same(chunk: Chunk, live: Chunk | None) -> bool:
    return live is not None and (chunk.state, chunk.fun, chunk.name, chunk.arguments) == (
        live.state,
        live.fun,
        live.name,
        live.arguments,
    )


def _is_unread(result: StateResult) -> bool:
    return any(UNREAD in text for text in (result.comment, *_texts(result.changes)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, str):
        yield value
