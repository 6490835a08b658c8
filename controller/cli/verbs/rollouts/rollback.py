"""`saltern rollback`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, OK, Failure
from controller.schema.fleet.listings import RevisionPage, RevisionView
from controller.schema.fleet.rollouts import QuarantineQuestion, QuarantineView, RollbackQuestion
from controller.schema.targets import TargetExpression

_NAMED = 5
"""Minions that a line names."""


@click.command("rollback")
@click.option(
    "--to",
    default="",
    help="Revision to go back to, as lists show it; without it, the newest before the live one that compiles.",
)
@click.option(
    "--target", help="Take back only the minions that this glob (or the kind given) matches, and hold them there."
)
@options.targeting_without_list
@click.option("--why", default="", help="Kept with it, for others.")
@click.option("--list", "listed", is_flag=True, help="Show the revisions that were taken back.")
@click.option("--revisions", is_flag=True, help="Show the newest revisions, and which did not compile.")
@click.option("--undo", "undone", metavar="REVISION", help="Let a revision go live again; `all`: each.")
@options.out
@options.config_dir
def rollback_command(
    to: str,
    target: str | None,
    kind: str | None,
    why: str,
    listed: bool,
    revisions: bool,
    undone: str | None,
    out: str,
    config_dir: Path,
) -> int:
    """Take the live revision back: an earlier one is live in its place until something newer is pushed.

    With --target some minions go back, and the others keep what is live.
    """
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs --target")
    meant = None if target is None else TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # a choice of click's
    with Client(config_dir) as client:
        if listed:
            _show(client.get("/quarantine", tuple[QuarantineView, ...]), out)
            return OK
        if revisions:
            _show_revisions(client.get("/revisions", RevisionPage), out)
            return OK
        if undone is not None:
            question = QuarantineQuestion(name="" if undone == "all" else undone, target=meant)
            found = client.post("/quarantine/release", question, tuple[QuarantineView, ...])
            if not found:
                where = " on these minions" if meant else ""
                raise Failure(f"no revision {undone} was taken back{where}", NO_TARGET, hint="see: rollback --list")
            _show(found, out, "may go live again")
            return OK
        view = client.post("/rollback", RollbackQuestion(to=to, why=why, target=meant), QuarantineView)
    if out != "text":
        output.document(view, out)
        return OK
    if view.rollback:
        minions = output.counted(len(view.minions), "minion")
        click.echo(
            f"took {minions} back from {view.revision}: {view.back_to} is held there until something newer is live"
        )
        return OK
    click.echo(f"took {view.revision} back: {view.back_to} is live until something newer is pushed")
    if view.passed:
        output.remark(f"passed over what does not compile: {', '.join(view.passed)}")
    if view.broken:
        keep = "it keeps what it has" if len(view.broken) == 1 else "they keep what they have"
        output.remark(f"{view.back_to} does not compile for {output.printable(_named(view.broken))}: {keep}")
        output.remark("--to names an earlier revision; `saltern history` shows them")
    return OK


def _show_revisions(page: RevisionPage, out: str) -> None:
    if out != "text":
        output.document(page.revisions, out)
        return
    heads = ("Since", "Revision", "State", "Author", "Change", "Error")
    rows = [
        (output.clock(each.first_seen), each.revision, _state(each), each.author, each.subject, _error(each))
        for each in page.revisions
    ]
    output.table(heads, rows)


def _state(one: RevisionView) -> str:
    if one.error:
        return "refused"
    if one.quarantined:
        return "taken back"
    broken = "does not compile" if one.compile_error else ""
    return ", ".join(filter(None, ("live" if one.live else "", broken))) or "superseded"


def _error(one: RevisionView) -> str:
    return (one.error or one.compile_error).partition("\n")[0]


def _named(minions: tuple[str, ...]) -> str:
    """`web1, web2 and 3 more`."""
    more = f" and {len(minions) - _NAMED} more" if len(minions) > _NAMED else ""
    return ", ".join(minions[:_NAMED]) + more


def _show(found: tuple[QuarantineView, ...], out: str, said: str = "") -> None:
    if out != "text":
        output.document(found, out)
        return
    for one in found:
        text = said or f"taken back to {one.back_to}" + (f" by {one.user}" if one.user else "")
        where = f" on {output.printable(_named(one.minions))}" if one.rollback else ""
        click.echo(f"{one.revision}  {text}{where}  {output.printable(one.why)}".rstrip())
    if not found:
        output.remark("no revision was taken back")
