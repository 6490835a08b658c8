"""Parts of Markdown that hold what others wrote: for comments on pull requests and in chats."""

from __future__ import annotations

from controller.cli import output


def code(text: str) -> str:
    """The text as a code span: no link, image, mention or HTML of a branch or minion comes into the comment."""
    shown = " ".join(output.printable(text).split())
    fence = "`"
    while fence in shown:  # as in `fenced`
        fence += "`"
    space = " " if "`" in shown else ""
    return f"{fence}{space}{shown}{space}{fence}"


def fenced(text: str, language: str = "") -> list[str]:
    """The text as a block of code, and an empty line after it."""
    fence = "```"
    while fence in text:  # what is quoted must not end the quotation
        fence += "`"
    return [fence + language, output.printable(text.rstrip("\n")), fence, ""]
