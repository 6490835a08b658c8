"""The function of a state in its SLS, where it is written, and another one in its place. Pure; called by `edits`."""

from __future__ import annotations

import re

from controller.adoption.scalar_edit import JINJA, CannotEdit
from controller.observe.value_places import Lines, function_lines


def with_function(text: str, block: Lines, state: str, old: str, new: str) -> tuple[str, int]:
    """The text with another function in a state, and the line; CannotEdit where it is not written plainly.

    Args:
        text: of the whole file.
        block: lines of the ID.
        state: `service`.
        old: function that is written there.
        new: function that takes its place.
    """
    lines = text.splitlines(keepends=True)
    own = function_lines(text, block, state, old)
    if own is None:
        raise CannotEdit(f"{state}.{old} is not written below the ID")
    whole = re.compile(rf"\b{re.escape(state)}\.{re.escape(old)}\b")
    alone = re.compile(rf"(?<=- ){re.escape(old)}(?=\s*(?:#.*)?$)")
    for number in range(own.first, own.last + 1):
        line = lines[number - 1]
        pattern = whole if number == own.first else alone
        if pattern.search(line) and not JINJA.search(line):
            bare = line.rstrip("\r\n")
            with_new = pattern.sub(f"{state}.{new}" if pattern is whole else new, bare, count=1)
            lines[number - 1] = with_new + line[len(bare) :]
            return "".join(lines), number
    raise CannotEdit(f"{state}.{old} is not written plainly")
