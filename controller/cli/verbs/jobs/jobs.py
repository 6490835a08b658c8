"""`saltern jobs`: functions that minions were asked for, and what became of them on each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
import msgspec.structs

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, NO_TARGET, OK, Failure
from controller.schema.jobs import JobDetail, JobKill, JobMinion, JobOutcome, JobQuery, JobView

_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group("jobs", no_args_is_help=True)
def jobs_command() -> None:
    """Look at jobs of minions, and end them."""


def _page(function: _Function) -> _Function:
    """Options of a part of the jobs."""
    function = click.option(
        "--before", default="", metavar="JID", shell_complete=offers.jobs, help="Older than this job."
    )(function)
    most = click.IntRange(1, 1000)
    return click.option("-n", "--limit", type=most, default=20, show_default=True, help="At most so many.")(function)


@jobs_command.command("list")
@_page
@options.out
@options.config_dir
def list_command(limit: int, before: str, out: str, config_dir: Path) -> None:
    """List jobs, newest first."""
    with Client(config_dir) as client:
        views = client.get("/jobs", tuple[JobView, ...], limit=limit, before=before)
    none = "no minion was asked for anything yet: `saltern run TARGET FUNCTION` does that"
    _show_jobs(views, out, f"no job is older than {before}" if before else none)


@jobs_command.command("active")
@_page
@options.out
@options.config_dir
def active_command(limit: int, before: str, out: str, config_dir: Path) -> None:
    """List jobs that minions have not returned yet, newest first."""
    with Client(config_dir) as client:
        views = client.get("/jobs", tuple[JobView, ...], limit=limit, before=before, active="true")
    _show_jobs(views, out, "no job goes on")


_MISSING = ("unreachable", "timed out", "refused", "cancelled")
"""Outcomes of minions that did not do it to its end; None: it goes on there."""


def _some(function: _Function) -> _Function:
    """Options that leave out minions."""
    outcomes = click.Choice(get_args(JobOutcome))
    function = click.option(
        "--outcome", "outcomes", multiple=True, type=outcomes, help="Only minions where it ended so; several times."
    )(function)
    return click.option("--missing", is_flag=True, help="Only minions that did not do it to its end, and why.")(
        function
    )


@jobs_command.command("show")
@click.argument("jid", shell_complete=offers.jobs)
@_some
@options.out
@options.config_dir
def show_command(jid: str, missing: bool, outcomes: tuple[str, ...], out: str, config_dir: Path) -> int:
    """Show what became of job JID on each minion: who is missing, and why."""
    with Client(config_dir) as client:
        return _show(client.get("/job", JobDetail, jid=jid), out, _wanted(missing, outcomes))


@jobs_command.command("last")
@_some
@options.out
@options.config_dir
def last_command(missing: bool, outcomes: tuple[str, ...], out: str, config_dir: Path) -> int:
    """Show the newest job; one that looked after another (`saltern jobs kill`) is none."""
    with Client(config_dir) as client:
        newest = client.get("/jobs", tuple[JobView, ...], limit=1, without_control="true")
        if not newest:
            hint = "saltern run '*' test.ping is a first job"
            raise Failure("no minion was asked for anything yet", NO_TARGET, hint=hint)
        found = client.get("/job", JobDetail, jid=newest[0].jid)
        return _show(found, out, _wanted(missing, outcomes))


@jobs_command.command("kill")
@click.argument("jid", shell_complete=offers.jobs)
@options.out
@options.config_dir
def kill_command(jid: str, out: str, config_dir: Path) -> int:
    """End job JID at once on the minions where it goes on."""
    with Client(config_dir) as client:
        killed = client.post("/jobs/kill", JobQuery(jid=jid), tuple[JobKill, ...])
    if out != "text":
        output.document(killed, out)
    for one in killed if out == "text" else ():
        click.echo(f"{output.printable(one.minion)}: {'asked to end it' if one.asked else 'not connected'}")
    if not killed:
        output.remark(f"job {jid} goes on nowhere; `saltern jobs show {jid}` says how it ended")
    return OK if all(one.asked for one in killed) else FAILED


def _show_jobs(views: tuple[JobView, ...], out: str, none: str) -> None:
    if out != "text":
        output.document(views, out)
    elif views:
        heads = ("time", "job", "function", "arguments", "user", "minions", "outcomes")
        output.table(heads, [_row(view) for view in views])
    else:
        output.remark(none)


def _row(view: JobView) -> tuple[str, ...]:
    return (output.clock(view.created), view.jid, view.fun, view.args, view.user, str(view.minions), _outcomes(view))


def _outcomes(view: JobView) -> str:
    """`3 ok, 1 failed, 2 running`."""
    counts = [f"{count} {outcome}" for outcome, count in view.outcomes.items()]
    return ", ".join([*counts, f"{view.running} running"] if view.running else counts)


def _wanted(missing: bool, outcomes: tuple[str, ...]) -> frozenset[str | None] | None:
    """The outcomes that are shown; None: all."""
    if not (missing or outcomes):
        return None
    return frozenset((*outcomes, *((*_MISSING, None) if missing else ())))


def _show(found: JobDetail, out: str, wanted: frozenset[str | None] | None) -> int:
    """Print it; the exit code is 1 where it did not end well on a minion, as that of the job was."""
    bad = any(one.outcome not in (None, "ok", "changed") for one in found.minions)
    if wanted is not None:
        minions = tuple(one for one in found.minions if one.outcome in wanted)
        found = msgspec.structs.replace(found, minions=minions)
    if out != "text":
        output.document(found, out)
    else:
        job = found.job
        words = " ".join(part for part in (job.fun, job.args) if part)
        click.echo(output.styled(output.printable(f"{job.jid}  {words}"), bold=True))
        by = f" by {output.printable(job.user)}" if job.user else ""
        by += f" for {output.printable(job.target)} ({job.target_type})" if job.target else ""
        click.echo(f"{output.clock(job.created)}{by}: {_outcomes(job)}")
        if job.metadata:
            click.echo("metadata: " + ", ".join(output.printable(f"{key}={job.metadata[key]}") for key in job.metadata))
        heads = ("minion", "outcome", "took", "seen", "run", "summary")
        output.table(heads, [_minion(one) for one in found.minions])
    return FAILED if bad else OK


def _minion(one: JobMinion) -> tuple[str, ...]:
    seen = "now" if one.connected else output.ago(one.last_seen) or "never"
    took = output.span(one.seconds) if one.finished is not None and one.seconds else ""
    state = "running" if one.run_id else "waiting"
    return (one.minion, one.outcome or state, took, seen, one.run_id, one.summary)
