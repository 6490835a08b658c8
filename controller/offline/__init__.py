"""Work on trees without a controller: compile cases, one or many, in a process that may be ended.

    text -> Case (cases) -> trees (trees) -> Answer (show), in a process of its own (isolation, batch)

Called by `saltern compile` and `saltern lint`. It reads folders and git remotes, and writes nothing but answers.
"""

from __future__ import annotations

from controller.offline.batch import run_batch
from controller.offline.cases import BadCase, Case, parse_case
from controller.offline.isolation import Isolated, Lost
from controller.offline.show import CaseResult, answer_case, plain_problem

__all__ = [
    "BadCase",
    "Case",
    "CaseResult",
    "Isolated",
    "Lost",
    "answer_case",
    "parse_case",
    "plain_problem",
    "run_batch",
]
