"""Which paths a run has changed, as its result says: what watches of these paths report is the run's own doing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wire.messages import Call, Preview, Run, RunResult

MOST_PATHS = 10_000
"""Of one run; beyond them, changes are taken for somebody else's."""

_SEPARATOR = "_|-"


def runs_states(request: Run | Preview | Call) -> bool:
    """Whether a request runs states that change the machine."""
    match request:
        case Call():
            return request.fun.startswith("state.")
        case Run():
            return not request.test
        case Preview():
            return False


def changed_paths(result: RunResult) -> tuple[str, ...]:
    """Names of changed states that are paths, and paths among their changes."""
    states = result.states or (result.value if isinstance(result.value, Mapping) else {})
    found = {path for key, state in states.items() for path in _paths(str(key), state)}
    return tuple(sorted(found)[:MOST_PATHS])


def _paths(key: str, state: Any) -> Iterator[str]:
    changes = state.get("changes") if isinstance(state, Mapping) else None
    if not changes:
        return
    words = key.split(_SEPARATOR)
    names = (*words[2:3], *(changes if isinstance(changes, Mapping) else ()))
    yield from (name for name in names if isinstance(name, str) and name.startswith("/"))
