"""What the check after a push would find, foretold in a preview. Called by `minion.worker.executor`.

The whole document is planned on the machine as the foretold run leaves it. A state whose content a preview does not
read may be as it is live, and not of this run: then a drift check of the live document says whether it differs now,
as it would say it anyway. That it differs is told, and nothing of what it holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from highstate.desired import Desired
from highstate.run.ports import Executor, RunHooks
from highstate.run.report import as_running
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.worker.preview_sandbox import UNREAD

DIFFERS = "It differs on the machine from what the live state makes"


class Checks(NamedTuple):
    """What plans states."""

    foretold: Executor
    """On the machine as the foretold run leaves it."""
    live: Callable[[Desired], Executor]
    """On the machine as it is, states of the document that the minion holds."""
    hooks: RunHooks
    failhard: bool


def found_after(desired: Desired, live: Desired, ran: Collection[str], checks: Checks) -> dict[str, dict[str, Any]]:
    """What would still have something to do, by key.

    Args:
        desired: the document of the preview.
        live: the document that the minion holds.
        ran: keys of the foretold run.
        checks: is asked for all states of the first, and for those of the second whose content a preview does not read.
    """
    results = run(
        desired.chunks, checks.foretold, test=True, clock=time.time, failhard=checks.failhard, hooks=checks.hooks
    )
    pending = {key: result for key, result in results.items() if result.result is None}
    unread = {
        key
        for key, result in pending.items()
        if key not in ran and _is_unread(result) and _same(desired.chunks[key], live.chunks.get(key))
    }
    now = _drift(live, unread, checks) if unread else {}
    for key in unread:
        told = now[key].result if key in now else None
        if told is True:
            del pending[key]
        elif told is None and key in now:
            pending[key] = StateResult(name=pending[key].name, result=None, comment=DIFFERS)
    return as_running(desired.chunks, pending)


def _drift(live: Desired, keys: Collection[str], checks: Checks) -> Mapping[str, StateResult]:
    others = {key: StateResult(name=chunk.name, result=True) for key, chunk in live.chunks.items() if key not in keys}
    return run(live.chunks, checks.live(live), test=True, clock=time.time, known=others, hooks=checks.hooks)


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
