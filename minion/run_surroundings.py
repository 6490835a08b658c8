"""What a minion brings to a run: threads for parallel chunks, and the file of triggers that are still to be acted on.

Called by the worker and by `saltern call`. The file is `cachedir/triggers`, a JSON list of chunk keys; it is written
only when it changes, and a damaged one counts as empty.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from highstate.run.ports import Surroundings, Task, Triggers

log = logging.getLogger(__name__)

FILE_NAME = "triggers"


class TriggerFile:
    """`highstate.run.Triggers` on disk."""

    def __init__(self, cachedir: Path, *, whole: Collection[str] | None = None) -> None:
        """`whole`: keys of all chunks that this minion has; what is owed by others is forgotten."""
        self._path = cachedir / FILE_NAME
        self._whole = whole

    def owed(self) -> frozenset[str]:
        """What is remembered."""
        try:
            keys = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return frozenset()
        return frozenset(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else frozenset()

    def settle(self, owed: frozenset[str]) -> None:
        """Remember these."""
        if self._whole is not None:
            owed = frozenset(key for key in owed if key in self._whole or "_|-listener_" in key)
        if owed == self.owed():
            return
        from minion.journal import write_durably

        try:
            write_durably(self._path, json.dumps(sorted(owed)).encode())
        except OSError as error:
            log.error("event=triggers_not_kept error=%s", error)


def in_thread(task: Task) -> Task:
    """Begin a task in a thread of its own; what is given waits for its end. Commands run beside each other so."""
    import threading

    done: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            done.append(task())
        except BaseException as error:  # handed to who waits
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def wait() -> Any:
        thread.join()
        if failed:
            raise failed[0]
        return done[0]

    return wait


def surroundings(
    opts: Mapping[str, Any], triggers: Triggers | None = None, stopping: Callable[[], bool] | None = None
) -> Surroundings:
    """Those of a run on this minion."""
    aggregate = opts.get("state_aggregate")
    return Surroundings(
        background=in_thread,
        triggers=triggers,
        stopping=stopping or (lambda: False),
        aggregate=aggregate is True or (isinstance(aggregate, list) and "pkg" in aggregate),
    )
