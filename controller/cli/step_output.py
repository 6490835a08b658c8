"""Prints the events that led to something, for `saltern why` and `saltern show`."""

from __future__ import annotations

import textwrap

import click

from controller.cli import output
from controller.schema.events import WhyStep

_WIDTH = 80
_STEP = 10


def show_step(step: WhyStep) -> None:
    """Print one event: when, what, and its details below."""
    when = output.clock(step.time)
    head = f"{when}  {step.step:{_STEP}}"
    about = f"{step.revision[:12]}: {step.text}" if step.step == "revision" and step.revision else step.text
    lines = _wrapped(about, _WIDTH - len(head))
    click.echo(head + lines[0])
    rest = [*lines[1:], *(line for detail in step.details for line in _wrapped(detail, _WIDTH - len(head)))]
    for line in rest:
        click.echo(" " * len(head) + line)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(output.printable(text), width, subsequent_indent="  ", break_on_hyphens=False) or [""]
