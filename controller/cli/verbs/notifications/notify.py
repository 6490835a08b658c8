"""`saltern notify`: who is told what, what waits to be told, and a test of a receiver."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, Failure
from controller.schema.fleet.notifications import (
    NotificationsView,
    ReceiverTestQuestion,
    ReceiverTestView,
    RouteView,
    SpooledMessage,
    SpoolRetryQuestion,
)


def _receivers(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """What shells offer as RECEIVER."""
    try:
        with Client(context.params.get("config_dir") or options.DEFAULT_CONFIG_DIR, seconds=offers.SECONDS) as client:
            view = client.get("/notifications", NotificationsView)
    except Failure:
        return []
    return [one.name for one in view.receivers if one.name.startswith(incomplete)]


@click.group("notify", no_args_is_help=True)
def notify_command() -> None:
    """Who is told of what happens, and what waits to be told."""


@notify_command.command("list")
@options.out
@options.config_dir
def list_command(out: str, config_dir: Path) -> int:
    """List receivers, the routes of saltern.yaml, and what was told and is not over."""
    with Client(config_dir) as client:
        view = client.get("/notifications", NotificationsView)
    if out != "text":
        output.document(view, out)
        return OK
    if not view.receivers:
        output.remark("the configuration has no receiver; docs/notifications.md says how to write one")
    else:
        heads = ("receiver", "kind", "routes", "waiting", "given up", "sent", "last", "error")
        rows = [
            (
                one.name,
                one.kind,
                str(one.routes),
                str(one.waiting),
                str(one.given_up),
                str(one.sent),
                output.ago(one.sent_at),
                one.error,
            )
            for one in view.receivers
        ]
        output.table(heads, rows)
    if view.routes:
        click.echo()
        output.table(("line", "receivers", "what", "group by"), [_route(one) for one in view.routes])
    if view.groups:
        click.echo()
        told = [
            (
                one.receiver,
                ", ".join(f"{name}={value}" for name, value in one.labels.items()),
                str(one.count),
                str(one.sent),
                output.ago(one.sent_at),
            )
            for one in view.groups
        ]
        output.table(("receiver", "group", "holds", "messages", "last"), told)
    if view.unknown:
        output.remark(f"saltern.yaml names receivers that the configuration has not: {', '.join(view.unknown)}")
    return OK


def _route(route: RouteView) -> tuple[str, ...]:
    what = [*route.kinds, *route.severities, *route.environments, *([route.target] if route.target else ())]
    return str(route.line), ", ".join(route.receivers), ", ".join(what) or "all", ", ".join(route.group_by)


@notify_command.command("spool")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Messages at most.")
@options.out
@options.config_dir
def spool_command(limit: int, out: str, config_dir: Path) -> int:
    """List messages that wait for their receiver, and those that were given up, the newest first."""
    with Client(config_dir) as client:
        found = client.get("/notifications/spool", tuple[SpooledMessage, ...], limit=limit)
    if out != "text":
        output.document(found, out)
        return OK
    if not found:
        output.remark("nothing waits")
        return OK
    rows = [
        (
            one.id,
            one.receiver,
            "given up" if one.state == "dead" else "waits",
            output.ago(one.created),
            str(one.attempts),
            output.clock(one.next_at),
            one.title,
            one.error,
        )
        for one in found
    ]
    output.table(("message", "receiver", "state", "made", "attempts", "next", "title", "error"), rows)
    return OK


@notify_command.command("test")
@click.argument("receiver", shell_complete=_receivers)
@options.out
@options.config_dir
def test_command(receiver: str, out: str, config_dir: Path) -> int:
    """Send RECEIVER a message that says that it is a test; 1 when it was not taken."""
    with Client(config_dir) as client:
        view = client.post("/notifications/test", ReceiverTestQuestion(receiver=receiver), ReceiverTestView)
    if out != "text":
        output.document(view, out)
    elif view.taken:
        click.echo(output.printable(f"{view.receiver} took it, in {view.seconds:g} s"))
    else:
        output.remark(output.printable(f"{view.receiver} did not take it: {view.error}"))
    return OK if view.taken else FAILED


@notify_command.command("retry")
@click.argument("message")
@options.out
@options.config_dir
def retry_command(message: str, out: str, config_dir: Path) -> int:
    """Have MESSAGE, which was given up, wait for its receiver again."""
    with Client(config_dir) as client:
        waiting = client.post("/notifications/retry", SpoolRetryQuestion(message=message), tuple[str, ...])
    if out != "text":
        output.document({"messages": waiting}, out)
    return OK
