"""`saltern schedule`: the jobs of the controller and of minions, and when those of a file run next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, Failure
from controller.cli.verbs.local.schedule import next_command
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallReturn
from controller.schema.schedules import (
    ScheduledJobView,
    ScheduleRunQuestion,
    ScheduleRunView,
    ScheduleSwitchQuestion,
    ScheduleView,
)
from controller.schema.targets import TargetExpression

_TIMES = ("seconds", "minutes", "hours", "days", "cron", "when", "once")


def _jobs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """What shells offer as JOB."""
    try:
        with Client(context.params.get("config_dir") or options.DEFAULT_CONFIG_DIR, seconds=offers.SECONDS) as client:
            view = client.get("/schedule", ScheduleView)
    except Failure:
        return []
    return [one.job for one in view.jobs if one.job.startswith(incomplete)]


@click.group("schedule", no_args_is_help=True)
def schedule_command() -> None:
    """Look at schedules, run their jobs, enable and disable them: of the controller, or of minions."""


schedule_command.add_command(next_command)

_timeout = click.option(
    "-t", "--timeout", type=click.FloatRange(0.1), default=30.0, show_default=True, help="Seconds to wait for minions."
)


@schedule_command.command("list")
@click.argument("target", required=False, shell_complete=offers.minions)
@options.targeting
@_timeout
@options.out
@options.config_dir
def list_command(target: str | None, kind: str | None, timeout: float, out: str, config_dir: Path) -> int:
    """List the jobs of the controller, or those of the minions that TARGET (a glob) matches."""
    _check_kind(target, kind)
    if target is not None:
        question = _question(target, kind, "schedule.list", timeout, show_all=True, return_yaml=False)
        return _ask(question, out, config_dir, _show_minion_jobs)
    with Client(config_dir) as client:
        view = client.get("/schedule", ScheduleView)
    if out != "text":
        output.document(view, out)
    elif view.jobs:
        heads = ("job", "function", "target", "when", "enabled", "next", "last", "place")
        output.table(heads, [_row(one) for one in view.jobs])
    else:
        output.remark("the controller has no scheduled job; docs/schedules.md says how to write one")
    if out == "text" and view.disabled is not None:
        output.remark(
            f"all jobs are disabled, by {output.printable(view.disabled.user)}; `saltern schedule enable --all`"
        )
    return OK


@schedule_command.command("run")
@click.argument("job", shell_complete=_jobs)
@click.argument("target", required=False, shell_complete=offers.minions)
@options.targeting
@click.option("--force", is_flag=True, help="Also a job that is disabled, and beside runs of it that go on.")
@_timeout
@options.out
@options.config_dir
def run_command(
    job: str, target: str | None, kind: str | None, force: bool, timeout: float, out: str, config_dir: Path
) -> int:
    """Begin JOB now: of the controller, or of the minions that TARGET (a glob) matches.

    Its times stay as they are. What it returns is in the history.
    """
    _check_kind(target, kind)
    if target is not None:
        return _ask(
            _question(target, kind, "schedule.run_job", timeout, job, force=force), out, config_dir, _show_comment
        )
    with Client(config_dir) as client:
        begun = client.post("/schedule/run", ScheduleRunQuestion(job=job, force=force), ScheduleRunView)
    if out != "text":
        output.document(begun, out)
        return OK
    if begun.jid:
        click.echo(f"began {output.printable(job)}: {begun.jid}")
    for minion, run in begun.runs.items():
        click.echo(f"began {output.printable(job)} on {output.printable(minion)}: {run}")
    return OK


@schedule_command.command("enable")
@click.argument("job", required=False, shell_complete=_jobs)
@click.argument("target", required=False, shell_complete=offers.minions)
@click.option("--all", "whole", is_flag=True, help="The whole schedule; then the first argument is TARGET.")
@options.targeting
@_timeout
@options.out
@options.config_dir
def enable_command(**given: Any) -> int:
    """Have JOB run again at its times: of the controller, or of the minions that TARGET (a glob) matches."""
    return _switch("enable", **given)


@schedule_command.command("disable")
@click.argument("job", required=False, shell_complete=_jobs)
@click.argument("target", required=False, shell_complete=offers.minions)
@click.option("--all", "whole", is_flag=True, help="The whole schedule; then the first argument is TARGET.")
@options.targeting
@_timeout
@options.out
@options.config_dir
def disable_command(**given: Any) -> int:
    """Have JOB run no more, until it is enabled: of the controller, or of the minions that TARGET (a glob) matches."""
    return _switch("disable", **given)


def _switch(
    word: str, job: str | None, target: str | None, whole: bool, kind: str | None, timeout: float, out: str,
    config_dir: Path,
) -> int:  # fmt: skip
    if whole:
        if target is not None:
            raise click.UsageError("--all is about all jobs: name no JOB")
        job, target = None, job
    elif job is None:
        raise click.UsageError("name a JOB, or --all for the whole schedule")
    _check_kind(target, kind)
    if target is not None:
        fun, names = (f"schedule.{word}", ()) if job is None else (f"schedule.{word}_job", (job,))
        return _ask(_question(target, kind, fun, timeout, *names), out, config_dir, _show_comment)
    with Client(config_dir) as client:
        question = ScheduleSwitchQuestion(job=job or "", enabled=word == "enable")
        view = client.post("/schedule/switch", question, ScheduleView)
    if out != "text":
        output.document(view, out)
    else:
        click.echo(f"{word}d {output.printable(job or 'all jobs')}")
    return OK


def _check_kind(target: str | None, kind: str | None) -> None:
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs a TARGET")


def _question(target: str, kind: str | None, fun: str, timeout: float, *args: Any, **kwargs: Any) -> CallQuestion:
    asked = TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # a choice of click's
    return CallQuestion(target=asked, fun=fun, args=args, kwargs=kwargs, timeout=timeout)


def _ask(question: CallQuestion, out: str, config_dir: Path, show: Any) -> int:
    """Have minions do it; an answer that is not what the function returns is a failure of the minion."""
    with Client(config_dir) as client:
        returns = [item for item in client.stream("/call", question) if isinstance(item, CallReturn)]
    returns.sort(key=lambda item: item.minion)
    good = {item.minion: item.value for item in returns if item.ok and isinstance(item.value, dict)}
    failed = {item.minion: _why(item) for item in returns if item.minion not in good}
    if out != "text":
        output.salt_document(
            {item.minion: item.value if item.value is not None else item.error for item in returns}, out
        )
    else:
        show(good)
    for minion, error in failed.items() if out == "text" else ():
        output.remark(f"{output.printable(minion)}: {output.printable(error)}")
    return FAILED if failed or not returns else OK


def _why(item: CallReturn) -> str:
    """Why a minion did not do it, by the function's own words where it has some."""
    said = item.value.get("comment") if isinstance(item.value, dict) else None
    return str(said or item.error or item.value)


def _show_comment(answers: dict[str, dict[str, Any]]) -> None:
    for minion, said in answers.items():
        comment = said.get("comment")
        text = ", ".join(map(str, comment)) if isinstance(comment, list) else str(comment)
        click.echo(output.printable(f"{minion}: {text}"))


def _show_minion_jobs(answers: dict[str, dict[str, Any]]) -> None:
    rows = []
    for minion, jobs in answers.items():
        for name, job in sorted(jobs.items()):
            if isinstance(job, dict):
                when = ", ".join(f"{key} {job[key]}" for key in _TIMES if key in job)
                rows.append((minion, name, str(job.get("function", "")), when, _yes(bool(job.get("enabled")))))
        if jobs.get("enabled") is False:
            output.remark(f"{output.printable(minion)}: the whole schedule is disabled")
    if rows:
        output.table(("minion", "job", "function", "when", "enabled"), rows)
    else:
        output.remark("these minions have no scheduled job")


def _row(one: ScheduledJobView) -> tuple[str, ...]:
    enabled = _yes(one.enabled) + (f" ({one.switch.user})" if one.switch and one.switch.user else "")
    return (
        one.job,
        one.function,
        one.target,
        one.when,
        enabled,
        output.clock(one.next),
        output.clock(one.last),
        one.place,
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"
