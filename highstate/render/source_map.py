"""What a template writes, and which of its lines each line of that comes from. Called by `jinja` for each render.

Jinja's code yields its output piece by piece, and the place where the generator then stands says which line of the
template made the piece. It knows nothing of environments and files.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import jinja2

from highstate.render.template_limits import TooMuch

MAX_OUTPUT = 32 * 1024 * 1024
"""Characters that one template may write."""


@dataclass(frozen=True, slots=True)
class TemplateText:
    """What a template wrote, with the template's line for each line of it."""

    text: str
    lines: Sequence[int]


@dataclass(slots=True)
class CodeLines:
    """From a place in a template's code to the template's line; filled by the first render, and kept with the code."""

    _starts: list[int] = field(default_factory=list)
    """Offsets in the code where another line begins."""
    _lines: list[int] = field(default_factory=list)
    found: dict[int, int] = field(default_factory=dict)
    """Those that were asked for: a template yields from few places, again and again."""
    literal: frozenset[int] = frozenset()
    """Identities of the constants of the code: what stands in the template itself."""

    def learn(self, code: CodeType, debug_info: Sequence[tuple[int, int]]) -> None:
        """Read the lines of the template's main function."""
        in_code = [line for _, line in debug_info]
        starts, lines = [-1], [0]
        for start, _, line in code.co_lines():
            at = bisect_right(in_code, line or 0) - 1
            starts.append(start)
            lines.append(debug_info[at][0] if at >= 0 else 0)
        self._lines, self.literal = lines, frozenset(map(id, code.co_consts))
        self._starts = starts  # last: another thread may look whether it is there

    @property
    def known(self) -> bool:
        """Whether they were read."""
        return bool(self._starts)

    def line(self, offset: int) -> int:
        """The template's line of an instruction; 0 when there is none."""
        line = self.found[offset] = self._lines[bisect_right(self._starts, offset) - 1]
        return line


def collect(
    template: jinja2.Template, context: jinja2.runtime.Context, code_lines: CodeLines, *, newline: bool
) -> TemplateText:
    """Run a template. `newline`: put one behind the output, because Jinja took it from the source."""
    if not code_lines.known:
        code_lines.learn(template.root_render_func.__code__, template.debug_info)
    literal, found = code_lines.literal, code_lines.found
    parts: list[str] = []
    lines = array("I")
    size, at_start = 0, True
    generator: Any = template.root_render_func(context)
    frame = generator.gi_frame
    for part in generator:
        if not part:
            continue
        size += len(part)
        if size > MAX_OUTPUT:
            raise TooMuch(f"the template writes more than {MAX_OUTPUT} characters")
        parts.append(part)
        breaks = part.count("\n")
        if not (breaks or at_start):
            continue
        offset = frame.f_lasti
        line = found[offset] if offset in found else code_lines.line(offset)
        if at_start:
            lines.append(line)
        if breaks:
            lines.extend(range(line + 1, line + breaks + 1) if id(part) in literal else [line] * breaks)
        at_start = part[-1] == "\n"
        if at_start:
            lines.pop()
    if newline:
        parts.append("\n")
    return TemplateText("".join(parts), lines)
