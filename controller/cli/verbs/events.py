"""`saltern events`."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.schema.events import DROPPED, EventView
from controller.schema.requests import EventsQuery
from highstate.types import state_title

_EVER = 1e10
"""Seconds: since before there was any event."""


@click.command("events")
@click.argument("tag", required=False)
@click.option("-E", "--pcre", "regex", is_flag=True, help="TAG is a regular expression, which is found anywhere.")
@click.option("-F", "--exact", is_flag=True, help="TAG is a tag as it is, in which * and ? are letters.")
@click.option("--since", metavar="DURATION", help="Begin with what is kept from so long ago: 30s, 15m, 2h, 7d.")
@click.option("-n", "--count", type=click.IntRange(1), help="End after so many.")
@click.option(
    "--no-follow",
    is_flag=True,
    help="End after what is kept; without --since that is all of it, as far as it is shown.",
)
@click.option(
    "--out",
    type=click.Choice(["text", "json", "pretty"]),
    default="text",
    show_default=True,
    help="json: one a line; pretty: as `salt-run state.event pretty=True`.",
)
@options.config_dir
def events_command(
    tag: str | None,
    regex: bool,
    exact: bool,
    since: str | None,
    count: int | None,
    no_follow: bool,
    out: str,
    config_dir: Path,
) -> None:
    """Follow everything that happens until Ctrl-C; with TAG (a glob) only events of such tags."""
    wanted = _compiled(tag) if regex and tag is not None else None
    if regex and exact:
        raise click.UsageError("--pcre and --exact: say one of them")
    query = EventsQuery(
        tag="*" if tag is None or regex else tag,
        match="exact" if exact and tag is not None else "glob",
        since=_seconds(since) if since else _EVER if no_follow else 0.0,
        follow=not no_follow,
    )
    seen = 0
    with Client(config_dir) as client:
        for item in client.stream("/events", tag=query.tag, match=query.match, since=query.since, follow=query.follow):
            if item.tag == DROPPED:
                _show_dropped(item, out)
                continue
            if wanted is not None and not wanted.search(item.tag):
                continue
            _show(item, out)
            seen += 1
            if seen == count:
                return


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise click.UsageError(f"{text!r} is no regular expression: {error}") from None


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if found is None:
        raise click.UsageError(f"--since {text!r}: write a duration like 30s, 15m, 2h or 7d")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[found[2]]


def _show(event: EventView, out: str) -> None:
    if out == "json":
        output.json_line(event)
        return
    if out == "pretty":
        text = json.dumps({"_stamp": _stamp(event.time), **event.data}, indent=4, sort_keys=True)
        click.echo(f"{_tag(event)}\t{output.printable(text)}")
        return
    about = " ".join(part for part in (event.minion, event.revision[:12]) if part)
    click.echo(f"{output.clock(event.time)}  {output.styled(_tag(event), bold=True)}  {about}".rstrip())
    for line in output.nested({name: _readable(value) for name, value in event.data.items()}, 4):
        click.echo(line)


def _tag(event: EventView) -> str:
    """The tag, on one line: a minion chooses tags, and may not write lines of its own."""
    return output.printable(event.tag, kept="")


def _show_dropped(notice: EventView, out: str) -> None:
    """Say that this reader was too slow: in the stream for programs, beside it for people."""
    if out == "json":
        output.json_line(notice)
    else:
        click.echo(f"saltern: {notice.data['count']} events dropped: they came faster than they were read", err=True)


def _stamp(time: float) -> str:
    return datetime.datetime.fromtimestamp(time, datetime.UTC).isoformat()


def _readable(value: Any) -> Any:
    return state_title(value) if isinstance(value, str) else value
