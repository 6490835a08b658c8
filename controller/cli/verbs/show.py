"""`saltern show`: one run, or the newest compile of a minion."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, NO_TARGET, Failure
from controller.cli.step_output import show_step
from controller.schema.minions import CompileView
from controller.schema.runs import RunView


@click.command("show")
@click.argument("name", metavar="RUN|MINION", shell_complete=offers.runs_and_minions)
@click.option("--changes", is_flag=True, help="Leave out states that had nothing to do.")
@options.out
@options.config_dir
def show_command(name: str, changes: bool, out: str, config_dir: Path) -> None:
    """One run with all that came of it; of a MINION: its newest compile, with warnings and what that stands on.

    The beginning of a run's id is enough where it is clear.
    """
    with Client(config_dir) as client:
        view = _asked(client, name)
    if out != "text":
        output.document(view, out)
    elif isinstance(view, RunView):
        show_run(view, changes)
    else:
        _show_compile(view)


def _asked(client: Client, name: str) -> RunView | CompileView:
    try:
        return client.get("/run", RunView, id=name)
    except Failure as no_run:
        try:
            return client.get("/compile", CompileView, minion=name)
        except Failure as no_minion:
            if no_run.code != FAILED or no_minion.code != NO_TARGET:
                raise no_run from None
            message = f"there is neither a run nor a minion {name!r}"
            raise Failure(message, NO_TARGET, hint="see: saltern history, saltern status") from None


def show_run(view: RunView, changes: bool = False) -> None:
    """Print one run; `changes`: without the states that had nothing to do."""
    entry = view.entry
    facts = {
        "run": entry.run_id,
        "minion": entry.minion,
        "kind": entry.kind + (" (test)" if entry.test else ""),
        "revision": entry.revision,
        "cause": entry.cause,
        "plan": view.plan,
        "rollout": view.rollout,
        "approved": ", ".join(f"{one.user} ({output.clock(one.at)})" for one in view.approvals),
        "requested": output.clock(entry.created),
        "finished": output.clock(entry.finished),
        "outcome": entry.outcome or entry.state,
        "summary": entry.summary,
        "error": view.error,
    }
    _head(facts)
    if view.steps:
        click.echo("because:")
    for step in view.steps:
        show_step(step)
    for line in output.states(view.states, only_changes=changes):
        click.echo(line)
    if view.value is not None:
        click.echo("\n".join(output.nested(view.value)))


def _show_compile(view: CompileView) -> None:
    _head({"minion": view.minion, "revision": view.revision, "compiled": output.clock(view.compiled_at)})
    for error in view.errors:
        click.echo(output.styled(output.printable(error), fg="red"))
    for warning in view.warnings:
        click.echo(output.styled(output.printable(f"warning: {warning}"), fg="yellow"))
    if view.volatile:
        rows = [(one.name, one.asked, output.clock(one.at)) for one in view.volatile]
        output.table(("Stands on", "Asked", "At"), rows)


def _head(facts: dict[str, str]) -> None:
    for name, value in facts.items():
        if value:
            click.echo(f"{name + ':':11}{output.printable(value)}")
