"""Lists in which a reader finds the first of many, and how many more there are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.report.blocks import Piece, Quoted, ReportLine
from controller.report.wording import counted, number

TOP = 5
"""Lines of one kind above the folds."""
COUNTED = 5
"""Things of one kind in a line."""


def quoted(texts: Sequence[str], most: int) -> Iterator[Piece]:
    """The first texts, each quoted, and how many more there are."""
    for place, text in enumerate(texts[:most]):
        if place:
            yield ", "
        yield Quoted(text, 100)
    if len(texts) > most:
        yield f" and {number(len(texts) - most)} more"


def more(count: int, noun: str, plural: str = "") -> list[ReportLine]:
    """A line that says how many more there are; none when there are no more."""
    return [(f"and {counted(count, 'more ' + noun, 'more ' + plural if plural else '')}",)] if count > 0 else []
