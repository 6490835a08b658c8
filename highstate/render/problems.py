"""Making errors readable: the lines around the place, and names that are near what was written."""

from __future__ import annotations

from collections.abc import Iterable

from options.near_names import did_you_mean


def excerpt(text: str, line: int, column: int = 0, *, around: int = 2, of: int = 0) -> str:
    """The lines around `line` with a mark before it, and a caret under `column` (from 1) where that is known.

    `of`: the line of the template where the text is what one wrote; it is said when the numbers are not the same.
    """
    lines = text.splitlines()
    if not 1 <= line <= len(lines) + 1:
        return ""
    first, last = max(1, line - around), min(len(lines), line + around)
    width = len(str(last))
    shown = ["  as rendered:"] if of not in (0, line) else []
    for number in range(first, last + 1):
        content = lines[number - 1].expandtabs(2)[:200]
        shown.append(f"{'>' if number == line else ' '} {number:>{width}} | {content}")
        if number == line and column:
            before = lines[number - 1][: column - 1].expandtabs(2)
            if len(before) < 200:
                shown.append(f"  {' ' * width} | {' ' * len(before)}^")
    return "\n".join(shown)


def near(name: str, known: Iterable[object]) -> str:
    """A hint that names what is close to `name`, or an empty string."""
    return did_you_mean(name, (str(one) for one in known), most=3, quote="'")
