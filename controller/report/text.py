"""The report as lines for a terminal. Pure; colours are the command line's."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import assert_never

from controller.report.blocks import (
    Bullets,
    CodeBlock,
    Fold,
    Heading,
    Link,
    Paragraph,
    Quoted,
    ReportBlock,
    ReportLine,
    Strong,
    Table,
)
from controller.report.escape import clipped, visible, visible_block
from controller.report.page import whole_report
from controller.schema.reports import MergeOutcome, PreviewReport

_WIDEST_CELL = 36


def text(report: PreviewReport, merged: MergeOutcome | None = None, *, width: int = 80) -> str:
    """The whole report.

    Args:
        report: what is shown.
        merged: what happened after the merge, where that is known.
        width: columns that sentences and tables are fitted into; lines of files and errors are left as they are.
    """
    return "\n".join(_lines(whole_report(report, merged), width, "")).strip("\n") + "\n"


def _lines(blocks: Iterable[ReportBlock], width: int, indent: str) -> Iterator[str]:
    for block in blocks:
        yield from _block(block, width, indent)


def _block(block: ReportBlock, width: int, indent: str) -> Iterator[str]:
    match block:
        case Heading():
            yield from ("", *_wrapped(_line(block.line), width, indent, indent))
            yield indent + ("=" if block.level == 1 else "-") * min(width, len(_line(block.line)))
        case Paragraph():
            yield from _wrapped(_line(block.line), width, indent, indent)
        case Bullets():
            for line in block.lines:
                yield from _wrapped(_line(line), width, f"{indent}* ", f"{indent}  ")
        case Table():
            yield from ("", *_table(block, width, indent), "")
        case CodeBlock():
            yield from (f"{indent}    {line}" for line in visible_block(block.text.rstrip("\n")).split("\n"))
        case Fold():
            yield from ("", *_wrapped(_line(block.title), width, indent, indent))
            yield from _lines(block.blocks, width, indent + "  ")
        case _:
            assert_never(block)


def _wrapped(line: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(line, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) or [""]


def _table(table: Table, width: int, indent: str) -> Iterator[str]:
    """Columns without those that have nothing in any row; the widest cells are cut until a row fits."""
    rows = [table.heads, *(tuple(clipped(_line(cell), _WIDEST_CELL) for cell in row) for row in table.rows)]
    kept = [place for place in range(len(table.heads)) if any(row[place] for row in rows[1:])]
    widths = {place: max(len(row[place]) for row in rows) for place in kept}
    while sum(widths.values()) + 2 * len(kept) + len(indent) > width and max(widths.values(), default=0) > 8:
        widest = max(kept, key=lambda place: widths[place])
        widths[widest] -= 1
    for row in rows:
        yield indent + "  ".join(clipped(row[place], widths[place]).ljust(widths[place]) for place in kept).rstrip()


def _line(line: ReportLine) -> str:
    shown = []
    for piece in line:
        match piece:
            case str():
                shown.append(piece)
            case Quoted() | Strong():
                shown.append(visible(piece.text))
            case Link():
                shown.append(f"{piece.label}: {piece.url}")
            case _:
                assert_never(piece)
    return "".join(shown)
