"""`saltern history`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.verbs.show import show_run
from controller.schema.runs import MOST_WITH_CAUSES, CausedEntry, HistoryEntry, RunView

_JID = re.compile(r"\d{20}|(drift|scheduled|called)-.+")


@click.command("history")
@click.argument("name", metavar="[MINION|JID]", required=False, shell_complete=offers.runs_and_minions)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Most runs to show."
)
@options.out
@options.config_dir
def history_command(name: str | None, limit: int, out: str, config_dir: Path) -> None:
    """Runs of MINION, or of all, newest first; of a JID: that run or job with its result."""
    if name is not None and _JID.fullmatch(name):
        _show_job(name, out, config_dir)
        return
    with Client(config_dir) as client:
        if out != "text":
            _document(client.get("/history", tuple[CausedEntry, ...], minion=name, limit=limit, causes=True), out)
            return
        entries = client.get("/history", tuple[HistoryEntry, ...], minion=name, limit=limit)
    # The last ones get lines of their own where the terminal is narrow.
    heads = ("Time", "Minion", "Kind", "Outcome", "Changes", "Failed", "Took", "Revision", "Run", "Cause", "Summary")
    output.table(heads, [_row(entry) for entry in entries])
    if not entries:
        output.remark("nothing has run yet")


def _document(entries: tuple[CausedEntry, ...], out: str) -> None:
    output.document(entries, out)
    if len(entries) > MOST_WITH_CAUSES:
        output.remark(
            f"plan, approvals and causes are those of the newest {MOST_WITH_CAUSES}; `saltern show RUN` tells each"
        )


def _show_job(jid: str, out: str, config_dir: Path) -> None:
    with Client(config_dir) as client:
        view = client.get("/run", RunView, id=jid)
    if out == "text":
        show_run(view)
    else:
        output.document(view, out)


def _row(entry: HistoryEntry) -> tuple[str, ...]:
    return (
        _time(entry.finished or entry.created),
        entry.minion,
        entry.kind,
        entry.outcome or entry.state,
        str(entry.changes),
        str(entry.failed),
        output.span(entry.seconds),
        entry.revision,
        entry.run_id,
        entry.cause,
        entry.summary,
    )


def _time(at: float) -> str:
    """Without the year on a terminal, where columns are short of room."""
    return output.clock(at)[5:] if sys.stdout.isatty() else output.clock(at)
