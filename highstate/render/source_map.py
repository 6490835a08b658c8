"""What a template writes, and which of its lines each line of that comes from. Called by `jinja` for each render.

Jinja's code yields its output piece by piece, and the place where the generator then stands says which line of the
template made the piece. It knows nothing of environments and files.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from types import CodeType, FrameType
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
    """From places in a template's code to the template's lines; filled by renders, and kept with the code.

    A template yields from few places, again and again, so that only these are held.
    """

    found: dict[int, int] = field(default_factory=dict)
    """Offset in the code -> line."""
    literal: set[int] = field(default_factory=set)
    """Identities of constants of the code that were yielded: text that stands in the template itself."""

    def line(self, frame: FrameType, template: jinja2.Template) -> int:
        """The template's line where the frame of its main function stands; 0 when there is none."""
        lines = template.debug_info
        at = bisect_right(lines, frame.f_lineno, key=itemgetter(1)) - 1
        line = self.found[frame.f_lasti] = lines[at][0] if at >= 0 else 0
        return line

    def is_literal(self, part: str, code: CodeType) -> bool:
        """Whether a part is a constant of the code."""
        if id(part) in self.literal:
            return True
        if found := any(part is each for each in code.co_consts):
            self.literal.add(id(part))
        return found


def collect(
    template: jinja2.Template, context: jinja2.runtime.Context, code_lines: CodeLines, *, newline: bool
) -> TemplateText:
    """Run a template. `newline`: put one behind the output, because Jinja took it from the source."""
    found, code = code_lines.found, template.root_render_func.__code__
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
        line = found[offset] if offset in found else code_lines.line(frame, template)
        if at_start:
            lines.append(line)
        if breaks:
            literal = code_lines.is_literal(part, code)
            lines.extend(range(line + 1, line + breaks + 1) if literal else [line] * breaks)
        at_start = part[-1] == "\n"
        if at_start:
            lines.pop()
    if newline:
        parts.append("\n")
    return TemplateText("".join(parts), lines)
