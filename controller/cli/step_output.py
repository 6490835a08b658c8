"""Prints the events that led to something, for `saltern why` and `saltern show`."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

import click

from controller.cli import output
from controller.schema.events import WhyStep

_WIDTH = 80
_STEP = 10
_SOURCE = re.compile(r"[> ] *\d* \|")
"""How a line of the source begins, below an error."""


def show_step(step: WhyStep) -> None:
    """Print one event: when, what, and its details below.

    Text is wrapped on a terminal alone: elsewhere it is searched and compared by lines. The lines of a compile error
    that show the source are never wrapped, since its caret stands below a column.
    """
    when = output.clock(step.time)
    head = f"{when}  {step.step:{_STEP}}"
    about = f"{step.revision[:12]}: {step.text}" if step.step == "revision" and step.revision else step.text
    room = max(_width() - len(head), 20)
    lines = _wrapped(about, room)
    click.echo(head + lines[0])
    rest = [*lines[1:], *(line for detail in step.details for line in _lines(detail, room))]
    for line in rest:
        click.echo(f"{' ' * len(head)}{line}".rstrip())


def _width() -> int:
    if not sys.stdout.isatty():
        return sys.maxsize
    return max(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)


def _lines(detail: str, room: int) -> list[str]:
    return [output.printable(detail)] if _SOURCE.match(detail) else _wrapped(detail, room)


def _wrapped(text: str, width: int) -> list[str]:
    shown = output.printable(text)
    if len(shown) <= width:
        return [shown]
    # An address or a tag is left whole: half of it is of no use to who copies it.
    return textwrap.wrap(shown, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
