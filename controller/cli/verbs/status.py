"""`saltern status`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.group_output import show_groups
from controller.cli.status_rows import with_agents
from controller.cli.workers_output import complaint_of
from controller.schema.fleet.status import FleetStatusView
from controller.schema.minions import EngineStatus, ReturnerStatus, StatusView


@click.command("status", cls=options.optional_number("--watch", "2"))
@click.argument("target", required=False, shell_complete=offers.minions)
@options.targeting
@click.option(
    "--by",
    type=click.Choice(["fleet", "environment", "wave"]),
    help="Show minions together: counts, revisions, conditions, and why some are not well.",
)
@click.option(
    "--watch",
    type=click.FloatRange(0.5, 86_400),
    metavar="[SECONDS]",
    help="Show it until Ctrl-C: again when something happens, and after so many seconds (2).",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show errors and warnings of compiles, problems of minions, and what was asked of the machines.",
)
@options.out
@options.config_dir
def status_command(
    target: str | None, kind: str | None, by: str | None, watch: float | None, verbose: bool, out: str, config_dir: Path
) -> None:
    """Sync and health of all minions, or of those that TARGET (a glob) matches."""
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs a TARGET")
    if by is not None and target is not None:
        raise click.UsageError("--by shows all minions: leave TARGET out")
    query = {} if target is None else {"expression": target, "kind": kind}

    def ask(client: Client) -> StatusView:
        return client.get("/status", StatusView, **query)

    def ask_groups(client: Client) -> FleetStatusView:
        return client.get("/status/fleet", FleetStatusView, by=by)

    if watch is not None:
        # What draws takes a tenth of the time in which a status is shown once.
        from controller.cli.live.status_watch import watch_groups, watch_status

        if by is None:
            watch_status(config_dir, watch, ask, partial(_show, out=out, verbose=verbose), out, drawn=not verbose)
        else:
            watch_groups(config_dir, watch, ask_groups, partial(show_groups, out=out), out)
        return
    with Client(config_dir) as client:
        if by is None:
            _show(ask(client), out, verbose)
        else:
            show_groups(ask_groups(client), out)


def _show(view: StatusView, out: str, verbose: bool) -> None:
    if out != "text":
        output.document(view, out)
        return
    output.table(*with_agents(view.minions))
    for minion in view.minions if verbose else ():
        for error in minion.errors:
            click.echo(f"\n{minion.minion}:\n{output.printable(error)}")
        for warning in minion.warnings:
            click.echo(f"\n{minion.minion}: warning:\n{output.printable(warning)}")
        for problem in minion.problems:
            click.echo(f"\n{minion.minion}: configuration:\n{output.printable(problem)}")
        if minion.ignored:
            states = output.counted(minion.ignored, "state")
            click.echo(f"\n{minion.minion}: ignored: what differs in {states} (saltern diff {minion.minion})")
        if minion.unnamed:
            held = f"; not removed: {output.printable(minion.prune_held)}" if minion.prune_held else ""
            resources = output.counted(minion.unnamed, "resource")
            click.echo(
                f"\n{minion.minion}: no state names {resources} that it made (saltern diff {minion.minion}){held}"
            )
        if minion.volatile:
            asked = ", ".join(map(output.printable, minion.volatile))
            click.echo(f"\n{minion.minion}: asked of the machine, {output.ago(minion.asked_at)}: {asked}")
    if not view.minions:
        output.remark("no minion has connected with an accepted key yet; see `saltern key list`")
    for remote in view.remotes:
        if remote.error:
            output.remark(f"remote {remote.name}: {output.printable(remote.error)}")
    if view.executor is not None and (wrong := complaint_of(view.executor)):
        output.remark(output.printable(wrong))
    for returner in view.returners:
        _tell_returner(returner)
    for engine in view.engines:
        _tell_engine(engine, verbose)


def _tell_returner(one: ReturnerStatus) -> None:
    """What is wrong with a returner, when something is."""
    if one.failures or one.dropped:
        text = (
            f"returner {one.returner}: {one.waiting} wait, {one.dropped} dropped, failed {one.failures} times in a row"
        )
        output.remark(f"{text}: {output.printable(one.error)}")


def _tell_engine(one: EngineStatus, verbose: bool) -> None:
    """What is wrong with an engine; with `verbose` also that nothing is."""
    text = f"engine {one.engine}: {one.state} since {output.ago(one.since)}"
    text += f", ended {output.counted(one.failures, 'time')} in a row" if one.failures else ""
    text += f", waited {output.counted(one.waits, 'time')} to send events" if one.waits else ""
    if one.failures or one.waits or one.state == "waiting" or verbose:
        output.remark(f"{text}: {output.printable(one.error)}" if one.error else text)
