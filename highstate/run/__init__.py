"""The last stage of the language: low chunks → running dictionary, with requisites decided at run time.

Called by the minion's worker, by `saltern call` and by tests. The only effects are the executor's and the journal's,
which the caller brings; this package itself looks at nothing but its arguments.
"""

from highstate.run.ports import (
    Executor,
    Journal,
    MemoryJournal,
    MemoryTriggers,
    Prepared,
    RunHooks,
    StartedTask,
    Task,
    Triggers,
    at_once,
)
from highstate.run.report import as_running, not_run, outcome
from highstate.run.requisites import RequisiteStatus, judge
from highstate.run.runner import run

__all__ = [
    "Executor",
    "Journal",
    "MemoryJournal",
    "MemoryTriggers",
    "Prepared",
    "RequisiteStatus",
    "RunHooks",
    "StartedTask",
    "Task",
    "Triggers",
    "as_running",
    "at_once",
    "judge",
    "not_run",
    "outcome",
    "run",
]
