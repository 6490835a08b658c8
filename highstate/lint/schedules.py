"""Jobs in the `schedule` of a pillar, with their lines. Called by `trees`; faults are told from above."""

from __future__ import annotations

from collections.abc import Iterator

from highstate.lint.findings import Finding
from highstate.lint.names import KnownStates
from highstate.render.context import Rendered
from highstate.render.problems import excerpt

_KEY = "schedule"


def check_schedule(rendered: Rendered, path: str, saltenv: str, known: KnownStates) -> Iterator[Finding]:
    """Findings about the jobs of one SLS of pillar."""
    given = rendered.data.get(_KEY) if isinstance(rendered.data, dict) else None
    for fault in known.schedules(given) if given is not None else ():
        keys = (_KEY, *fault.inside)
        found = (rendered.lines.find(*keys[:length]) for length in range(len(keys), 0, -1))
        line = next((line for line in found if line), 0)
        row = rendered.text.splitlines()[line - 1] if line else ""
        column = len(row) - len(row.lstrip()) + 1
        yield Finding(
            rule=fault.rule,
            message=fault.why,
            hint=fault.hint,
            tree="pillar",
            saltenv=saltenv,
            file=path,
            line=rendered.lines.template_line(line) or line,
            column=column,
            excerpt=excerpt(rendered.text, line, column) if line else "",
        )
