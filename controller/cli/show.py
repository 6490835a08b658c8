"""`saltern show`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.views import RunView


@click.command("show")
@click.argument("run_id")
@click.option("--changes", is_flag=True, help="Leave out states that had nothing to do.")
@options.out
@options.config_dir
def show_command(run_id: str, changes: bool, out: str, config_dir: Path) -> None:
    """One run with all that came of it. The beginning of RUN_ID is enough where it is clear."""
    with Client(config_dir) as client:
        view = client.get("/run", RunView, id=run_id)
    if out != "text":
        output.document(view, out)
        return
    entry = view.entry
    facts = {
        "run": entry.run_id,
        "minion": entry.minion,
        "kind": entry.kind + (" (test)" if entry.test else ""),
        "revision": entry.revision,
        "cause": entry.cause,
        "requested": output.clock(entry.created),
        "finished": output.clock(entry.finished),
        "outcome": entry.outcome or entry.state,
        "summary": entry.summary,
        "error": view.error,
    }
    for name, value in facts.items():
        if value:
            click.echo(f"{name + ':':11}{output.printable(value)}")
    for line in output.states(view.states, only_changes=changes):
        click.echo(line)
    if view.value is not None:
        click.echo("\n".join(output.nested(view.value)))
