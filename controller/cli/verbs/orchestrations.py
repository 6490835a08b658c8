"""`saltern orchestrations`: those that go on, and those that ended."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.schema.orchestrations import OrchestrationDetail, OrchestrationStep, OrchestrationView


@click.group("orchestrations", no_args_is_help=True)
def orchestrations_command() -> None:
    """Look at orchestrations, which `saltern runner state.orchestrate SLS` begins."""


@orchestrations_command.command("list")
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="At most so many.")
@click.option(
    "--before", default="", metavar="JID", shell_complete=offers.orchestrations, help="Ended, and older than this one."
)
@options.out
@options.config_dir
def list_command(limit: int, before: str, out: str, config_dir: Path) -> None:
    """List those that go on, then those that ended, newest first."""
    with Client(config_dir) as client:
        views = client.get("/orchestrations", tuple[OrchestrationView, ...], limit=limit, before=before)
    if out != "text":
        output.document(views, out)
    elif views:
        output.table(("time", "jid", "what", "state", "steps", "user", "summary"), [_row(view) for view in views])
    elif before:
        output.remark(f"no orchestration is older than {before}")
    else:
        output.remark("there has been no orchestration yet; `saltern runner state.orchestrate SLS` begins one")


@orchestrations_command.command("show")
@click.argument("jid", shell_complete=offers.orchestrations)
@options.out
@options.config_dir
def show_command(jid: str, out: str, config_dir: Path) -> None:
    """Show JID with its steps, whom they ask, and their results so far."""
    with Client(config_dir) as client:
        found = client.get("/orchestration", OrchestrationDetail, jid=jid)
    if out != "text":
        output.document(found, out)
        return
    view = found.orchestration
    click.echo(output.styled(output.printable(f"{view.fun} {view.sls}  {view.outcome or view.state}"), bold=True))
    click.echo(f"    begun {output.clock(view.created)}{output.printable(f' by {view.user}' if view.user else '')}")
    for error in found.errors:
        click.echo(output.styled(f"    {output.printable(error)}", fg="red"))
    for step in found.steps:
        _show_step(step)


def _show_step(step: OrchestrationStep) -> None:
    colour = {"ok": "green", "failed": "red", "pending": "yellow"}.get(step.outcome)
    word = output.styled(f"{step.outcome or step.state:8}", **({"fg": colour} if colour else {}))
    click.echo(f"    {word} {output.printable(f'{step.id} ({step.fun} {step.name})')}")
    lines = [*step.comment.splitlines(), *([f"job {step.jid}"] if step.jid else [])]
    lines += [f"{minion}: {state}" for minion, state in step.minions.items()]
    for line in lines:
        click.echo(f"             {output.printable(line)}")


def _row(view: OrchestrationView) -> tuple[str, ...]:
    when = output.clock(view.created)[5:] if sys.stdout.isatty() else output.clock(view.created)
    return when, view.jid, view.sls, view.outcome or view.state, f"{view.done}/{view.total}", view.user, view.summary
