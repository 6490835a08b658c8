"""`saltern history`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.api.schema import HistoryEntry
from controller.cli import options, output
from controller.cli.client import Client


@click.command("history")
@click.argument("minion", required=False)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Most runs to show."
)
@options.out
@options.config_dir
def history_command(minion: str | None, limit: int, out: str, config_dir: Path) -> None:
    """Runs of MINION, or of all, newest first."""
    with Client(config_dir) as client:
        entries = client.get("/history", tuple[HistoryEntry, ...], minion=minion, limit=limit)
    if out != "text":
        output.document(entries, out)
        return
    heads = ("Time", "Minion", "Kind", "Revision", "Outcome", "Changes", "Failed", "Took", "Run", "Summary")
    output.table(heads, [_row(entry) for entry in entries])
    if not entries:
        output.remark("nothing has run yet")


def _row(entry: HistoryEntry) -> tuple[str, ...]:
    return (
        output.clock(entry.finished or entry.created).replace(" ", "T"),
        entry.minion,
        entry.kind,
        entry.revision,
        entry.outcome or entry.state,
        str(entry.changes),
        str(entry.failed),
        output.span(entry.seconds),
        entry.run_id,
        entry.summary,
    )
