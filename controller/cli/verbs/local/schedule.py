"""`saltern schedule next`: what the schedule of a file does next. Needs no controller."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from controller.cli import output
from controller.cli.failure import USAGE, Failure


@click.command("next")
@click.option(
    "--config",
    "config_file",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with `schedule`: of a minion, a controller or a Salt master, or a pillar file without templates.",
)
@click.option("--now", metavar="ISO", help="A time like 2026-11-22T09:00:00, of this machine unless it says a zone.")
@click.option("-n", "--count", type=click.IntRange(1, 10_000), default=10, show_default=True, help="So many runs.")
@click.option("--out", "--output", "out", type=click.Choice(["text", "json", "yaml"]), default="text")
def next_command(config_file: Path, now: str | None, count: int, out: str) -> int:
    """Print when jobs run next, as if the schedule were loaded now.

    What is left to chance (splay) is left out. A job that cannot be followed is told, and the exit code is 1.
    """
    from reactors.schedule_forecast import next_runs
    from reactors.scheduled_jobs import jobs_of

    begin = _moment(now)
    jobs, refused = jobs_of(_schedule(config_file))
    zone = begin.tzinfo
    runs = [
        {"job": run.job, "at": datetime.fromtimestamp(run.at, zone).isoformat(timespec="seconds")}
        for run in next_runs(jobs, begin.timestamp(), count)
    ]
    if out == "text":
        output.table(("at", "job", "function"), [(run["at"], run["job"], jobs[run["job"]].fun) for run in runs])
    else:
        output.document(runs, out)
    if refused:
        problems = [f"{output.printable(name)}: {output.printable(why)}" for name, why in refused.items()]
        raise Failure(f"{config_file}: {output.counted(len(problems), 'job')} cannot be followed", problems=problems)
    return 0


def _moment(text: str | None) -> datetime:
    """The time that is meant; without a zone it is local."""
    if text is None:
        return datetime.now()
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--now {text!r}: write a time like 2026-11-22T09:00:00") from None


def _schedule(path: Path) -> dict[str, Any]:
    from options.document import UnreadableDocument, parse_document

    try:
        options = parse_document(path.read_text(encoding="utf-8"), str(path))
    except UnreadableDocument as error:
        raise Failure(str(error.fault), USAGE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path} cannot be read: {error}", USAGE) from None
    if "schedule" not in options:
        raise Failure(f"{path} has no `schedule`", USAGE, hint="it is a mapping of names to jobs")
    found = options["schedule"]
    if not isinstance(found.value, dict):
        raise Failure(f"{found.place}: schedule must be a mapping of names to jobs, not {found.value!r}", USAGE)
    return found.value
