"""Blocks as Markdown that GitHub, GitLab, Gitea, Bitbucket and Azure DevOps show alike. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from controller.report.blocks import (
    Bullets,
    CodeBlock,
    Fold,
    Heading,
    Link,
    Paragraph,
    Piece,
    Quoted,
    ReportBlock,
    ReportLine,
    Strong,
    Table,
)
from controller.report.escape import code_span, fenced, html_in_markdown
from controller.report.page import whole_report
from controller.schema.reports import MergeOutcome, PreviewReport


def markdown(report: PreviewReport, merged: MergeOutcome | None = None) -> str:
    """The whole report, without a budget. `merged`: what happened after the merge, where that is known."""
    return render(whole_report(report, merged)) + "\n"


def render(blocks: Iterable[ReportBlock], *, html: bool = True) -> str:
    """Blocks with an empty line between them. `html`: whether the forge folds `<details>`; else they are headings."""
    return "\n\n".join(_block(block, html) for block in blocks)


def _block(block: ReportBlock, html: bool) -> str:
    match block:
        case Heading():
            return "#" * (block.level + 1) + " " + _line(block.line)
        case Paragraph():
            return _line(block.line)
        case Bullets():
            return "\n".join(f"- {_line(line)}" for line in block.lines)
        case Table():
            return _table(block)
        case CodeBlock():
            return fenced(block.text, block.language)
        case Fold():
            inner = render(block.blocks, html=html)
            if html:
                return f"<details><summary>{_summary(block.title)}</summary>\n\n{inner}\n\n</details>"
            return f"#### {_line(block.title)}\n\n{inner}"
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    rows = [table.heads, *(tuple(_line(cell) for cell in row) for row in table.rows)]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(table.heads), *lines[1:]])


def _line(line: ReportLine) -> str:
    return "".join(map(_piece, line))


def _piece(piece: Piece) -> str:
    match piece:
        case str():
            return piece
        case Quoted():
            return code_span(piece.text, piece.most)
        case Strong():
            return f"**{piece.text}**"
        case Link():
            return f"[{piece.label}]({_address(piece.url)})"
        case _:
            assert_never(piece)


def _summary(line: Sequence[Piece]) -> str:
    """HTML, in which a forge looks for no Markdown."""
    shown = []
    for piece in line:
        match piece:
            case str():
                shown.append(piece)
            case Quoted():
                shown.append(html_in_markdown(piece.text, piece.most))
            case Strong():
                shown.append(f"<b>{piece.text}</b>")
            case Link():
                shown.append(piece.label)
            case _:
                assert_never(piece)
    return "".join(shown)


def _address(url: str) -> str:
    """An address of the configuration, in which nothing ends the link."""
    return "".join(each if each.isalnum() or each in "-._~:/?#@!$&'*+,;=%" else f"%{ord(each):02X}" for each in url)
