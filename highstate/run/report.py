"""Results in the shapes that others read: Salt's running dictionary, and a run's outcome in a word.

Called by the worker and by the CLI's outputters; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from highstate.types import Chunk, StateResult, Value


def as_running(chunks: Mapping[str, Chunk], results: Mapping[str, StateResult]) -> dict[str, dict[str, Value]]:
    """Salt's running dictionary by chunk key; the mod_watch calls of listeners, which have no chunk, included."""
    return {key: result.as_salt(chunks.get(key) or _listener(key, chunks)) for key, result in results.items()}


def not_run(
    chunks: Mapping[str, Chunk], results: Mapping[str, StateResult], known: Mapping[str, StateResult], why: str
) -> dict[str, StateResult]:
    """Results of the chunks that a stopped run has none of."""
    left = [(key, chunk) for key, chunk in chunks.items() if key not in results and key not in known]
    return {
        key: StateResult(name=chunk.name, result=False, comment=f"Not run: {why}", skipped=True, run_num=number)
        for number, (key, chunk) in enumerate(left, len(results))
    }


def outcome(results: Mapping[str, StateResult]) -> Literal["ok", "changed", "pending", "failed"]:
    """The worst that happened: a failure, something that would change, something that changed, or nothing."""
    if any(result.result is False for result in results.values()):
        return "failed"
    if any(result.result is None for result in results.values()):
        return "pending"
    return "changed" if any(result.changes for result in results.values()) else "ok"


def _listener(key: str, chunks: Mapping[str, Chunk]) -> Chunk:
    state, own_id, name, fun = (key.split("_|-") + [""] * 3)[:4]
    listening_id = own_id.removeprefix("listener_")
    sls = next((c.sls for c in chunks.values() if (c.state, c.id, c.name) == (state, listening_id, name)), "")
    return Chunk(state=state, fun=fun, id=own_id, name=name, sls=sls)
