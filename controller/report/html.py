"""The report as one HTML page: no script, no address of another host, and a content security policy that holds it so.

Pure; for the controller's port and for files that CI keeps.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterable
from itertools import pairwise
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
from controller.report.escape import html_block, html_text
from controller.report.page import whole_report
from controller.schema.reports import MergeOutcome, PreviewReport

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #8885; padding: .3rem .6rem; text-align: left; vertical-align: top; }
code { background: #8882; border-radius: 4px; font-size: .9em; padding: .1em .3em; unicode-bidi: isolate; }
code { overflow-wrap: anywhere; }
pre { background: #8881; border: 1px solid #8884; border-radius: 6px; overflow-x: auto; padding: .6rem .8rem; }
pre span { display: block; min-height: 1.5em; unicode-bidi: isolate; }
pre .add { background: #2da44e33; } pre .del { background: #cf222e33; } pre .at { opacity: .6; }
details { border: 1px solid #8884; border-radius: 6px; margin: .6rem 0; padding: .5rem .9rem; }
summary { cursor: pointer; }
footer { margin-top: 3rem; opacity: .7; }
"""
_KINDS = {"+": ' class="add"', "-": ' class="del"', "@": ' class="at"'}
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"
"""What the page needs, and no more; stands in the page, and belongs in the header of an answer with it."""


def html(report: PreviewReport, merged: MergeOutcome | None = None) -> str:
    """The whole report as a page. `merged`: what happened after the merge, where that is known."""
    made = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(report.made_at))
    body = _blocks(whole_report(report, merged))
    controller = f" by <code>{html_text(report.controller)}</code>" if report.controller else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Saltern preview {html_text(report.head[:8])}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{body}\n<footer>Made at {made}{controller}, in {report.seconds:.1f} s.</footer>\n</body>\n</html>\n"
    )


def _blocks(blocks: Iterable[ReportBlock]) -> str:
    return "\n".join(map(_block, blocks))


def _block(block: ReportBlock) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{_line(block.line)}</h{block.level}>"
        case Paragraph():
            return f"<p>{_line(block.line)}</p>"
        case Bullets():
            items = "".join(f"<li>{_line(line)}</li>" for line in block.lines)
            return f"<ul>{items}</ul>"
        case Table():
            heads = "".join(f"<th>{head}</th>" for head in block.heads)
            rows = "".join("<tr>" + "".join(f"<td>{_line(cell)}</td>" for cell in row) + "</tr>" for row in block.rows)
            return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        case CodeBlock():
            return f"<pre>{_code(block)}</pre>"
        case Fold():
            return f"<details><summary>{_line(block.title)}</summary>\n{_blocks(block.blocks)}\n</details>"
        case _:
            assert_never(block)


def _code(block: CodeBlock) -> str:
    text = block.text.rstrip("\n")
    if block.language != "diff":
        return html_block(text)
    lines = text.split("\n")
    heads = {
        place + more
        for place, (line, after) in enumerate(pairwise(lines))
        if line.startswith("--- ") and after.startswith("+++ ")
        for more in (0, 1)
    }
    return "".join(
        f"<span{_KINDS['@'] if place in heads else _KINDS.get(line[:1], '')}>{html_block(line)}</span>"
        for place, line in enumerate(lines)
    )


def _line(line: ReportLine) -> str:
    return "".join(map(_piece, line))


def _piece(piece: Piece) -> str:
    match piece:
        case str():
            return html_text(piece)
        case Quoted():
            return f"<code>{html_text(piece.text)}</code>"
        case Strong():
            return f"<strong>{html_text(piece.text)}</strong>"
        case Link():
            return f'<a rel="noreferrer" href="{html_text(piece.url)}">{html_text(piece.label)}</a>'
        case _:
            assert_never(piece)
