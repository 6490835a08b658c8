"""`saltern rollback`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, OK, Failure
from controller.schema.fleet.rollouts import QuarantineQuestion, QuarantineView, RollbackQuestion


@click.command("rollback")
@click.option(
    "--to", default="", help="Revision to go back to, as lists show it; the one before the live one by default."
)
@click.option("--why", default="", help="Kept with it, for others.")
@click.option("--list", "listed", is_flag=True, help="Show the revisions that were taken back.")
@click.option("--undo", "undone", metavar="REVISION", help="Let a revision go live again; `all`: each.")
@options.out
@options.config_dir
def rollback_command(to: str, why: str, listed: bool, undone: str | None, out: str, config_dir: Path) -> int:
    """Take the live revision back: an earlier one is live in its place until something newer is pushed."""
    with Client(config_dir) as client:
        if listed:
            _show(client.get("/quarantine", tuple[QuarantineView, ...]), out)
            return OK
        if undone is not None:
            question = QuarantineQuestion(name="" if undone == "all" else undone)
            found = client.post("/quarantine/release", question, tuple[QuarantineView, ...])
            if not found:
                raise Failure(f"no revision {undone} was taken back", NO_TARGET)
            _show(found, out, "may go live again")
            return OK
        view = client.post("/rollback", RollbackQuestion(to=to, why=why), QuarantineView)
    if out != "text":
        output.document(view, out)
        return OK
    click.echo(f"took {view.revision} back: {view.back_to} is live until something newer is pushed")
    return OK


def _show(found: tuple[QuarantineView, ...], out: str, said: str = "") -> None:
    if out != "text":
        output.document(found, out)
        return
    for one in found:
        text = said or f"taken back to {one.back_to}" + (f" by {one.user}" if one.user else "")
        click.echo(f"{one.revision}  {text}  {output.printable(one.why)}".rstrip())
    if not found:
        output.remark("no revision was taken back")
