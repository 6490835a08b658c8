"""Lint: what is wrong, or likely to go wrong, in a whole tree, for all minions.

    files -> texts (templates as written) ┐
    files, samples -> trees (rendered)   ├-> findings -> kept (comments, switched-off rules, each once)
    top files -> tops (missing, unused)   ┘

Called by `saltern lint` and by reviews of a push. It is pure, as the compile is: trees, samples of grains and the
table of states come in, findings come out. It must not judge what only a machine can tell.
"""

from __future__ import annotations

from highstate.lint.findings import RULES, Finding, Severity
from highstate.lint.functions import CallableNames
from highstate.lint.minions import KnownMinions
from highstate.lint.names import BeaconFault, KnownStates, ScheduleFault, Signature
from highstate.lint.samples import SAMPLES, Sample
from highstate.lint.trees import LintTrees, lint_trees

__all__ = [
    "RULES",
    "SAMPLES",
    "BeaconFault",
    "CallableNames",
    "Finding",
    "KnownMinions",
    "KnownStates",
    "LintTrees",
    "Sample",
    "ScheduleFault",
    "Severity",
    "Signature",
    "lint_trees",
]
