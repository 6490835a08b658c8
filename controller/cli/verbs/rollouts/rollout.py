"""`saltern rollout`: revisions on their way to the fleet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, PENDING
from controller.schema.fleet.rollouts import BatchView, RolloutAction, RolloutQuestion, RolloutView

_COLOURS = {"Completed": "green", "Failed": "red", "RolledBack": "red", "Aborted": "red", "Paused": "yellow"}
_OVER = ("Completed", "Failed", "Aborted", "RolledBack", "Superseded")
_RESTING = ("Pending", "Waiting", "Paused", "Confirming")
"""Phases in which it waits for somebody."""
_BAD = ("Failed", "Aborted", "RolledBack")
_WATCH_SECONDS = 0.5


@click.group("rollout", no_args_is_help=True)
def rollout_command() -> None:
    """Look at rollouts, and say how they go on."""


_rollout = click.argument("rollout", default="", shell_complete=offers.rollouts)


@rollout_command.command("list")
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="At most so many.")
@options.out
@options.config_dir
def list_command(limit: int, out: str, config_dir: Path) -> None:
    """List rollouts, newest first."""
    with Client(config_dir) as client:
        views = client.get("/rollouts", tuple[RolloutView, ...], limit=limit)
    if out != "text":
        output.document(views, out)
        return
    if not views:
        output.remark("there was no rollout yet: saltern.yaml has the key `rollout` for them")
    for one in views:
        click.echo(
            f"{one.id}  {_phase(one)}  {one.revision}  {one.released}/{one.minions}  {output.printable(one.why)}"
        )


def _phase(view: RolloutView) -> str:
    return output.styled(f"{view.phase:<11}", fg=_COLOURS.get(view.phase))


@rollout_command.command("show")
@_rollout
@options.out
@options.config_dir
def show_command(rollout: str, out: str, config_dir: Path) -> int:
    """Show the batches of ROLLOUT: an id or its beginning, or a revision; the newest by default."""
    with Client(config_dir) as client:
        view = client.get("/rollout", RolloutView, name=rollout)
    _show(view, out)
    return _code(view)


@rollout_command.command("watch")
@_rollout
@options.out
@options.config_dir
def watch_command(rollout: str, out: str, config_dir: Path) -> int:
    """Follow ROLLOUT until it is over, or waits for somebody."""
    from controller.cli.live.live_screen import LiveScreen, is_live

    with Client(config_dir) as client:
        view = client.get("/rollout", RolloutView, name=rollout)
        if out == "text" and is_live():
            from controller.cli.live.rollout_frame import rollout_frame

            with LiveScreen(whole=False) as screen:
                for each in _until_it_rests(client, view, screen.wait):
                    screen.show(partial(rollout_frame, each))
                    view = each
        else:
            view = _told_in_lines(client, view, out)
    if out != "text":
        output.document(view, out)
    return _code(view)


def _until_it_rests(client: Client, view: RolloutView, wait: Callable[[float], object]) -> Iterator[RolloutView]:
    """A rollout as it goes on, this one first."""
    yield view
    while view.phase not in (*_OVER, *_RESTING):
        wait(_WATCH_SECONDS)
        view = client.get("/rollout", RolloutView, name=view.id)
        yield view


def _told_in_lines(client: Client, view: RolloutView, out: str) -> RolloutView:
    """Print a line for each change; how it ends."""
    told: tuple[str, str, int] | None = None
    for each in _until_it_rests(client, view, time.sleep):
        news = (each.phase, each.why, each.released)
        if news != told and out == "text":
            text = f"{_phase(each)} {each.released}/{each.minions} minions  {output.printable(each.why)}"
            click.echo(f"{time.strftime('%H:%M:%S')} {text}".rstrip())
        told, view = news, each
    return view


def _code(view: RolloutView) -> int:
    if view.phase in _BAD:
        return FAILED
    return OK if view.phase in _OVER else PENDING


def _show(view: RolloutView, out: str) -> None:
    if out != "text":
        output.document(view, out)
        return
    click.echo(f"rollout {view.id} of {view.revision}: {_phase(view).rstrip()}")
    if view.about:
        click.echo(f"  {output.printable(view.about)}")
    if view.why:
        click.echo(f"  {output.printable(view.why)}")
    if view.needs:
        click.echo(f"  approvals: {len(view.approvals)} of {view.needs} {', '.join(view.approvals)}".rstrip())
    click.echo(f"  {view.released} of {view.minions} minions released")
    for batch in view.batches:
        click.echo(_batch_line(batch))
        if batch.failures:
            click.echo(f"      failed: {', '.join(batch.failures)}")


def _batch_line(batch: BatchView) -> str:
    counts = {
        "well": batch.good,
        "failed": batch.failed,
        "open": batch.pending,
        "outside their windows": batch.outside_window,
        "not connected": batch.absent,
        "held": batch.held,
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    title = f"{batch.wave}{' (canary)' if batch.canary else ''}"
    names = ", ".join(batch.names[:3]) + (" …" if batch.minions > 3 else "")
    return f"  {batch.state:<9} {title}: {batch.minions} ({names}){': ' if told else ''}{told}"


def _changing(action: RolloutAction, done: str, text: str) -> None:
    """Add the verb of an action."""

    @rollout_command.command(action, help=text)
    @_rollout
    @options.out
    @options.config_dir
    def command(rollout: str, out: str, config_dir: Path) -> None:
        question = RolloutQuestion(action=action, name=rollout)
        with Client(config_dir) as client:
            view = client.post("/rollout/change", question, RolloutView)
        if out != "text":
            output.document(view, out)
            return
        click.echo(f"{done} rollout {view.id} of {view.revision}: {_phase(view).rstrip()} {output.printable(view.why)}")


_changing("pause", "paused", "Release no more batches of ROLLOUT, and begin no run of it, until `resume`.")
_changing("resume", "resumed", "Go on with ROLLOUT.")
_changing("abort", "aborted", "End ROLLOUT where it is: what is not released yet stays as it was.")
_changing("retry", "began again", "Go on with ROLLOUT after it failed or was aborted.")
_changing("approve", "approved", "Approve ROLLOUT, where policy asks for that.")
_changing("promote", "promoted", "Release the wave of ROLLOUT that waits.")
_changing("confirm", "confirmed", "Keep what ROLLOUT applied; without that it is taken back where policy says so.")
