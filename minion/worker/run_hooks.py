"""What a minion adds to a run of states: threads for parallel chunks, triggers, and its end by a signal.

Called by the worker and by `saltern call`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from highstate.run.ports import RunHooks, Task, Triggers
from highstate.types import Chunk, StateResult
from minion.config.groups import StateOptions
from minion.execution.machine_clock import WAITING
from minion.worker.termination import Stop


class ThreadTask:
    """`highstate.run.Task` in a thread of its own, so that commands run in parallel."""

    def __init__(self, task: Task) -> None:
        self._done: list[tuple[StateResult, float]] = []
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._work, args=(task,), daemon=True)
        self._thread.start()

    def ready(self) -> bool:
        """Whether the task has ended."""
        return not self._thread.is_alive()

    def wait(self) -> tuple[StateResult, float]:
        """Its result; what it raised is raised."""
        self._thread.join()
        if self._failed:
            raise self._failed[0]
        return self._done[0]

    def _work(self, task: Task) -> None:
        try:
            self._done.append(task())
        except BaseException as error:  # handed to who waits
            self._failed.append(error)


def run_hooks(
    options: StateOptions,
    triggers: Triggers | None = None,
    stop: Stop | None = None,
    on_result: Callable[[str, Chunk, StateResult, int], str] | None = None,
    on_start: Callable[[str, int, int], None] | None = None,
    *,
    resumed: bool = False,
) -> RunHooks:
    """The hooks of a run on this minion; `resumed`: it has a journal, from which another worker can resume it."""
    if stop is not None:
        stop.runs_states = True
    return RunHooks(
        background=ThreadTask,
        most_parallel=options.most_parallel,
        triggers=triggers,
        remembers_at_once=not resumed,
        stopping=stop.requested if stop is not None else lambda: False,
        left_off=stop.suspended if stop is not None else lambda: False,
        sleep=stop.sleep if stop is not None else WAITING.sleep,
        draw=WAITING.draw,
        local_time=WAITING.local_time,
        on_result=on_result or (lambda key, chunk, result, total: ""),
        on_start=on_start or (lambda key, done, total: None),
        aggregate=options.aggregate_packages,
    )
