"""The last stage of the language: low chunks → running dictionary, with requisites decided at run time.

Called by the minion's worker, by `saltern call` and by tests. The only effects are the executor's and the journal's,
which the caller brings; this package itself looks at nothing but its arguments.
"""

from highstate.run.ports import (
    Begun,
    Executor,
    Journal,
    MemoryJournal,
    MemoryTriggers,
    Prepared,
    Surroundings,
    Task,
    Triggers,
    at_once,
)
from highstate.run.report import as_running, not_run, outcome
from highstate.run.requisites import Status, judge
from highstate.run.runner import run

__all__ = [
    "Begun",
    "Executor",
    "Journal",
    "MemoryJournal",
    "MemoryTriggers",
    "Prepared",
    "Status",
    "Surroundings",
    "Task",
    "Triggers",
    "as_running",
    "at_once",
    "judge",
    "not_run",
    "outcome",
    "run",
]
