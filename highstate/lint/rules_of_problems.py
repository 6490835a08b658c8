"""Which rule a problem of the compile falls under. Called by `trees`; the words that it looks for are the compile's."""

from __future__ import annotations

import re

from highstate.compile.assemble import render_cause
from highstate.render.diagnostics import ON_THE_MACHINE
from highstate.types import Problem, Stage

_BY_WORDS = (
    (r"Jinja syntax error", "syntax"),
    (r"the renderer '", "renderer"),
    (
        r"No matching sls found |Specified SLS |pillar SLS .* is not there|the top file includes .* which is not there",
        "missing-sls",
    ),
    (r"Conflicting IDs|.* contains multiple state declarations|found conflicting ID", "duplicate-id"),
    (r"Recursive requisites", "cycle"),
    (r".* more than once: the last one alone counts", "duplicate-requisite"),
    (r"pillar(\[.*\])? has no key ", "pillar-default"),
    (r"grains(\[.*\])? has no key ", "missing-grain"),
    (r"Referenced state does not exist|Cannot extend ID ", "dangling-requisite"),
)


def rule_of(problem: Problem) -> str:
    """The rule; `form` where nothing else fits."""
    message = render_cause(problem.message)
    for words, rule in _BY_WORDS:
        if re.match(words, message):
            return rule
    if problem.hint == ON_THE_MACHINE:
        return "needs-machine"
    match problem.pos.stage:
        case Stage.RENDER:
            return "render"
        case Stage.YAML:
            return "tabs" if "there is a tab" in problem.hint or "'\\t'" in problem.message else "yaml"
        case _:
            return "form"
