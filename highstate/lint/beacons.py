"""Beacons of a pillar, with their lines. Called by `trees`; what is wrong with them is told by the minion's room."""

from __future__ import annotations

from collections.abc import Iterator

from highstate.lint.findings import Finding
from highstate.lint.names import KnownStates
from highstate.render.context import Rendered
from highstate.render.problems import excerpt

_KEY = "beacons"
_NOTHING = "counts for nothing"
"""How a minion says that it reads an option and does nothing."""


def check_beacons(rendered: Rendered, path: str, saltenv: str, known: KnownStates) -> Iterator[Finding]:
    """Findings about the beacons of one SLS of pillar."""
    given = rendered.data.get(_KEY) if isinstance(rendered.data, dict) else None
    if given is None:
        return
    for fault in known.beacons(given):
        keys = (_KEY, *fault.inside)
        found = (rendered.lines.find(*keys[:length]) for length in range(len(keys), 0, -1))
        line = next((line for line in found if line), 0)
        row = rendered.text.splitlines()[line - 1] if line else ""
        column = len(row) - len(row.lstrip()) + 1
        yield Finding(
            rule="no-effect" if _NOTHING in fault.why else "beacon",
            message=fault.why,
            tree="pillar",
            saltenv=saltenv,
            file=path,
            line=rendered.lines.template_line(line) or line,
            column=column,
            excerpt=excerpt(rendered.text, line, column) if line else "",
        )
