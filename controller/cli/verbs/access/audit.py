"""`saltern audit`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, Failure
from controller.schema.access import AuditPage, AuditView
from options.durations import parse_seconds


@click.group("audit")
@options.config_dir
@click.pass_context
def audit_command(ctx: click.Context, config_dir: Path) -> None:
    """What people asked of the controller, and whether they might."""
    ctx.default_map = {verb: {"config_dir": config_dir} for verb in audit_command.commands}


@audit_command.command("list")
@click.option("--since", default="", metavar="TIME", help="Decisions of the last 2h, 7d.")
@click.option("--user", default="", help="Those about one user.")
@click.option("--denied", is_flag=True, help="Refusals alone.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most decisions to show."
)
@options.out
@options.config_dir_of_verb
def list_command(since: str, user: str, denied: bool, limit: int, out: str, config_dir: Path) -> None:
    """The newest decisions, oldest of them first. To look (`status`, `history`) is listed where it was refused."""
    began = time.time() - _seconds(since) if since else 0.0
    with Client(config_dir) as client:
        page = client.get("/audit", AuditPage, since=began, user=user, denied=denied, limit=limit)
    if out != "text":
        output.document(page.rows, out)
        return
    if not page.rows:
        output.remark("nothing was decided")
        return
    heads = ("Time", "User", "Action", "Allowed", "Why", "Detail")
    rows = [
        (
            output.clock(row.time),
            row.user,
            row.action,
            "yes" if row.allowed else "no",
            row.why,
            "" if row.detail == "{}" else row.detail,
        )
        for row in page.rows
    ]
    output.table(heads, [tuple(map(output.printable, row)) for row in rows])


@audit_command.command("export")
@click.option("--after", type=click.IntRange(0), default=0, help="Rows with a higher number alone.")
@options.config_dir_of_verb
def export_command(after: int, config_dir: Path) -> None:
    """All decisions as JSON lines, oldest first; exit code 1 where the log was tampered with."""
    broken: list[int] = []
    with Client(config_dir) as client:
        for page in _pages(client, after):
            broken += page.broken
            for row in page.rows:
                output.json_line(row)
    _tell(broken)


@audit_command.command("verify")
@options.out
@options.config_dir_of_verb
def verify_command(out: str, config_dir: Path) -> None:
    """Whether each decision still follows from the one before it; exit code 1 where one was changed or taken out."""
    broken: list[int] = []
    count = 0
    last: AuditView | None = None
    with Client(config_dir) as client:
        for page in _pages(client, 0):
            broken += page.broken
            count += len(page.rows)
            last = page.rows[-1] if page.rows else last
    if out != "text":
        output.document({"rows": count, "broken": broken, "last": last.digest if last else ""}, out)
    else:
        click.echo(f"{output.counted(count, 'decision')}, the last has the digest {last.digest if last else '-'}")
    _tell(broken)


def _pages(client: Client, after: int) -> Iterator[AuditPage]:
    while True:
        page = client.get("/audit/export", AuditPage, after=after)
        yield page
        if not page.rows:
            return
        after = page.rows[-1].seq


def _tell(broken: list[int]) -> None:
    if broken:
        rows = ", ".join(map(str, broken[:10])) + (", …" if len(broken) > 10 else "")
        raise Failure(f"the log was changed before or at row {rows}", FAILED, hint="compare it with an earlier export")


def _seconds(text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise click.UsageError(f"--since: {error}") from None
