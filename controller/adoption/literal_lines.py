"""Lines of a template that stand in the rendered text as they are, changed as they were changed there. Pure.

1. The rendered text and the one of the machine are compared line by line.
2. A rendered line that is once in the text, and once among the lines of the template that have no Jinja, is that line.
3. Each difference has to fall on such lines, which follow each other in the template; new lines go beside one.

What comes of it is rendered again and compared (`verification`). Called by `edits`.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence

from controller.adoption.scalar_edit import JINJA, CannotEdit

_MOST_LINES = 2_000
_IN_JINJA = ("}}", "%}", "#}")


def with_literal_lines(template: str, rendered: str, found: str) -> tuple[str, int]:
    """The template that gives the found text, and the first line that changed.

    Args:
        template: its text.
        rendered: what it gives now.
        found: what it shall give.

    Raises:
        CannotEdit: a line that differs is made by Jinja, or cannot be told from others.
    """
    lines, old, new = template.splitlines(True), rendered.splitlines(), found.splitlines()
    if max(len(lines), len(old), len(new)) > _MOST_LINES:
        raise CannotEdit(f"it has more than {_MOST_LINES} lines")
    places = _places(lines, old)
    changed: dict[int, list[str]] = {}
    for _, first, last, new_first, new_last in _changes(old, new):
        if any(JINJA.search(line) for line in new[new_first:new_last]):
            raise CannotEdit("a new line has what Jinja would take for its own")
        where, replaces = _target(places, first, last, len(old))
        for number in range(where, where + replaces):
            changed[number] = []
        fresh = [f"{line}\n" for line in new[new_first:new_last]]
        if replaces:
            changed[where] = fresh
        else:
            changed[where] = [*fresh, *changed.get(where, lines[where : where + 1])]
    if not changed:
        raise CannotEdit("only the ends of its lines differ")
    with_all = [line for number in range(len(lines) + 1) for line in changed.get(number, lines[number : number + 1])]
    return "".join(with_all), min(changed) + 1


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [each for each in found if each[0] != "equal"]


def _places(lines: Sequence[str], rendered: Sequence[str]) -> Mapping[int, int]:
    """Index of a rendered line -> index of the line of the template that it is."""
    literal = _outside_of_jinja([line.rstrip("\r\n") for line in lines])
    in_template = Counter(literal.values())
    in_text = Counter(rendered)
    where = {line: number for number, line in literal.items()}
    return {
        index: where[line]
        for index, line in enumerate(rendered)
        if in_text[line] == 1 and in_template.get(line) == 1 and line.strip()
    }


def _outside_of_jinja(lines: Sequence[str]) -> dict[int, str]:
    """Index -> line, of those that neither have Jinja nor stand in an expression or comment over several lines."""
    found: dict[int, str] = {}
    inside = False
    for number, line in enumerate(lines):
        opened = max(line.rfind(sign) for sign in ("{{", "{%", "{#"))
        closed = max(line.rfind(sign) for sign in _IN_JINJA)
        if not inside and opened < 0:
            found[number] = line
        if opened >= 0 or closed >= 0:
            inside = opened > closed
    return found


def _target(places: Mapping[int, int], first: int, last: int, length: int) -> tuple[int, int]:
    """Where lines are put into the template, and how many there they replace."""
    if last > first:
        there = [places.get(index) for index in range(first, last)]
        start = there[0]
        if start is None or there != list(range(start, start + len(there))):
            raise CannotEdit("a line that differs is made by Jinja, or stands there more than once")
        return start, len(there)
    if first > 0 and first - 1 in places:
        return places[first - 1] + 1, 0
    if first < length and first in places:
        return places[first], 0
    raise CannotEdit("lines were added beside lines that Jinja makes")
