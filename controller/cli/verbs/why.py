"""`saltern why`."""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.schema.events import WhyStep, WhyView

_WIDTH = 80
_STEP = 10


@click.command("why")
@click.argument("minion")
@options.out
@options.config_dir
def why_command(minion: str, out: str, config_dir: Path) -> None:
    """Why MINION was compiled or ran last: what was pushed or asked for, and what came of it."""
    with Client(config_dir) as client:
        view = client.get("/why", WhyView, minion=minion)
    if out != "text":
        output.document(view, out)
        return
    for step in view.steps:
        _show(step)
    if not view.steps:
        output.remark("nothing was compiled or run for it, or it is too long ago")


def _show(step: WhyStep) -> None:
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
