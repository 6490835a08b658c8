"""Text of others in what is shown: visible as it is, and without any effect. The one place where it is escaped.

Names, files, commit messages, ids and errors come from trees and machines. In Markdown they stand in code spans and
fences alone, where no forge looks for mentions, references of issues, links, commands and HTML; in HTML they are
escaped. Characters that a reader would not see, or that reorder what stands around them, are written out (`\\u202e`).
Pure; called by the renderers of this folder.
"""

from __future__ import annotations

import html
import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
"""What Unicode counts as printable, and fonts draw as nothing."""
_SPECIAL = re.compile(r"[&<>\"'`*_\[\]~@#!|\\$]")
"""Of HTML and of any forge's Markdown."""
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_MOST_MARKS = 3
"""Combining marks on one character; more of them are written out, since they would cover other lines."""
_FIRST_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_NOTHING = "(empty)"


def visible(text: str) -> str:
    """One line: what cannot be seen, line ends among it, is written as in a Python string."""
    return text if text.isascii() and text.isprintable() else _written_out(text, "")


def visible_block(text: str) -> str:
    """Lines, with their tabs; the rest as in `visible`."""
    return "\n".join(
        line if line.isascii() and line.isprintable() else _written_out(line, "\t") for line in text.split("\n")
    )


def _written_out(text: str, kept: str) -> str:
    shown, marks = [], 0
    for each in text:
        marks = marks + 1 if unicodedata.combining(each) else 0
        plain = (each.isprintable() or each in kept) and not _INVISIBLE.match(each) and marks <= _MOST_MARKS
        shown.append(each if plain else _number_of(each))
    return "".join(shown)


def _number_of(character: str) -> str:
    named = repr(character)[1:-1]
    return named if named.startswith("\\") else character.encode("ascii", "backslashreplace").decode()


def clipped(text: str, most: int) -> str:
    """At most so many characters, the last of which says that there were more."""
    return text if len(text) <= most else text[: most - 1] + "…"


def code_span(text: str, most: int) -> str:
    """Markdown: the text as a code span of one line, also good within a table. `most`: characters of the text."""
    # A forge's table ends a cell at `|` wherever it stands, and they do not agree on how to escape it.
    shown = clipped(visible(text), most).replace("|", "¦").strip() or _NOTHING
    shown = re.sub("`{5,}", "````…", shown)  # the fence is longer, and the room is bounded
    fence = "`"
    while fence in shown:
        fence += "`"
    space = " " if "`" in shown else ""
    return _isolated(shown, f"{fence}{space}{shown}{space}{fence}")


def _isolated(text: str, shown: str) -> str:
    """Letters that run from right to left do not reorder what stands beside them."""
    if text.isascii() or not any(unicodedata.bidirectional(each) in _RIGHT_TO_LEFT for each in text):
        return shown
    return f"{_FIRST_ISOLATE}{shown}{_END_ISOLATE}"


def fenced(text: str, language: str) -> str:
    """Markdown: the text as a block of code, whose fence stands nowhere in the text.

    A line that starts with `/` gets a blank before it: GitLab looks for its commands in the source of a comment.
    """
    shown = visible_block(text.rstrip("\n"))
    shown = re.sub(r"(?m)^/", " /", shown)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def html_text(text: str) -> str:
    """HTML: the text of an element or of an attribute in quotes."""
    return html.escape(visible(text))


def html_block(text: str) -> str:
    """HTML: the text of a `<pre>`."""
    return html.escape(visible_block(text))


def html_in_markdown(text: str, most: int) -> str:
    """HTML within Markdown, as in `<summary>`: a code element in which no character of Markdown is left."""
    shown = clipped(visible(text), most).strip() or _NOTHING
    escaped = _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", shown)
    return _isolated(shown, f"<code>{escaped}</code>")
