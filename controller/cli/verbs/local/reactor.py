"""`saltern reactor`: what reactors are set up, and what they would do about an event. Needs no controller."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli import options, output
from controller.cli.failure import COMPILE, FAILED, USAGE, Failure

if TYPE_CHECKING:
    from controller.config.settings import ControllerSettings
    from controller.offline.replaying import Replayed
    from reactors.events import Event
    from reactors.rules.native_rule import NativeRule
    from reactors.rules.reactor_map import ReactorEntry

_config = click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of a controller or of a Salt master, in place of the folder.",
)
_OUT = click.option("--out", "--output", "out", type=click.Choice(["text", "json", "yaml"]), default="text")


@click.group("reactor", no_args_is_help=True)
def reactor_command() -> None:
    """Look at reactors, and try them on an event without doing anything."""


@reactor_command.command("list")
@_config
@_OUT
@options.config_dir
def list_command(config_file: Path | None, out: str, config_dir: Path) -> int:
    """List the tags that are answered, and their SLS or native rule."""
    settings = _settings(config_file, config_dir)
    _show_entries(settings.reactor.entries, settings.rules.rules, out)
    return 0


@reactor_command.command("match")
@click.argument("tag")
@_config
@_OUT
@options.config_dir
def match_command(tag: str, config_file: Path | None, out: str, config_dir: Path) -> int:
    """List what answers events of TAG. The exit code is 1 when nothing does."""
    settings = _settings(config_file, config_dir)
    found, rules = settings.reactor.matching(tag), settings.rules.matching(tag)
    if not found and not rules and out == "text":
        output.remark(f"no reactor answers {output.printable(tag)}; `saltern reactor list` shows all")
    else:
        _show_entries(found, rules, out)
    return 0 if found or rules else FAILED


@reactor_command.command("test")
@click.argument("tag")
@click.argument("data", metavar="DATA.json", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@_config
@_OUT
@click.option("--timeout", type=click.FloatRange(min=0.001), default=60.0, show_default=True, help="Seconds.")
@options.config_dir
def test_command(tag: str, data: Path, config_file: Path | None, out: str, timeout: float, config_dir: Path) -> int:
    """Show what an event with TAG and this data (JSON, - is stdin) would do. Nothing is done.

    What keeps a reaction from being done is shown with file and line, and the exit code is 4.
    """
    from controller.offline.reacting import rule_reactions, try_reactors
    from reactors.rules.reactor_map import sls_of

    settings = _settings(config_file, config_dir)
    event = _event(data)
    sls = sls_of(settings.reactor.matching(tag))
    of_rules, wrong = rule_reactions(settings.rules, tag, event)
    if not sls and not of_rules and not wrong:
        output.remark(f"no reactor answers {output.printable(tag)}; `saltern reactor list` shows all")
    tested = try_reactors(
        settings, sls, tag=tag, data=event, git_files=_remotes(settings, config_file, config_dir), timeout=timeout
    )
    for warning in tested.warnings:
        output.remark(f"warning: {output.printable(warning)}")
    reactions = [*of_rules, *tested.reactions]
    if out == "text":
        _show_reactions(reactions)
    else:
        output.document(reactions, out)
    if wrong or tested.errors:
        errors = [output.printable(error) for error in (*wrong, *tested.errors)]
        raise Failure(f"{tag}: {output.counted(len(errors), 'error')}", COMPILE, problems=errors)
    return 0


@reactor_command.command("replay")
@click.option(
    "--since", metavar="DURATION", help="The events that the controller keeps from so long ago: 30s, 15m, 2h, 7d."
)
@click.option(
    "--events",
    "events_file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="In place of a controller: lines of `saltern events --out json`.",
)
@_config
@_OUT
@click.option("--timeout", type=click.FloatRange(min=0.001), default=600.0, show_default=True, help="Seconds.")
@options.config_dir
def replay_command(
    since: str | None, events_file: Path | None, config_file: Path | None, out: str, timeout: float, config_dir: Path
) -> int:
    """Show what reactors and rules would have done about recorded events. Nothing is done.

    The exit code is 4 when a reaction could not have been done.
    """
    from controller.offline.replaying import replay

    events = _recorded(since, events_file, config_dir)
    settings = _settings(config_file, config_dir)
    found = replay(settings, events, git_files=_all_remotes(config_file, config_dir), timeout=timeout)
    if found.error:
        raise Failure("the events cannot be replayed", COMPILE, problems=[output.printable(found.error)])
    if out == "text":
        _show_firings(found.firings)
        output.remark(f"{output.counted(len(events), 'event')}, {output.counted(len(found.firings), 'firing')}")
    else:
        output.document(found.firings, out)
    return COMPILE if any(each.errors for each in found.firings) else 0


def _recorded(since: str | None, events_file: Path | None, config_dir: Path) -> list[Event]:
    """Events of a file or of the controller, oldest first."""
    import msgspec

    from controller.schema.events import EventView
    from options.durations import parse_seconds
    from reactors.events import Event

    if (since is None) == (events_file is None):
        raise click.UsageError("write --since DURATION, or --events FILE")
    if events_file is not None:
        try:
            text = sys.stdin.buffer.read() if str(events_file) == "-" else events_file.read_bytes()
            views = [msgspec.json.decode(line, type=EventView) for line in text.splitlines() if line.strip()]
        except (OSError, msgspec.MsgspecError) as error:
            raise Failure(
                f"{events_file}: {error}", FAILED, hint="write lines of `saltern events --out json`"
            ) from None
    else:
        from controller.cli.client import Client

        try:
            seconds = parse_seconds(since)
        except ValueError as error:
            raise click.UsageError(f"--since: {error}") from None
        with Client(config_dir) as client:
            views = list(client.stream("/events", since=seconds, follow=False))
    return [
        Event(
            id=int(each.id),
            tag=each.tag,
            time=each.time,
            data=each.data,
            cause=int(each.cause or 0),
            revision=each.revision,
        )
        for each in views
    ]


def _all_remotes(config_file: Path | None, config_dir: Path) -> Any:
    """The trees of git remotes, whose reactors and rules count, too."""
    from controller.cli.trees import configured_layers

    if config_file is not None:
        return ()
    with configured_layers(config_dir) as (files, _):
        return files


def _settings(config_file: Path | None, config_dir: Path) -> ControllerSettings:
    from controller.cli.configuration import settings_of
    from controller.config.settings import BadControllerSettings, load_file

    if config_file is None:
        return settings_of(config_dir)
    try:
        return load_file(config_file)
    except BadControllerSettings as error:
        faults = [str(fault) for fault in error.faults]
        raise Failure("the configuration cannot be used", USAGE, problems=faults) from None


def _remotes(settings: ControllerSettings, config_file: Path | None, config_dir: Path) -> Any:
    """The trees of git remotes, where SLS of reactors are in them."""
    from controller.cli.trees import configured_layers

    if config_file is not None or not any(
        sls.startswith("salt://") for each in settings.reactor.entries for sls in each.sls
    ):
        return ()
    with configured_layers(config_dir) as (files, _):
        return files


def _event(path: Path) -> dict[str, Any]:
    import msgspec

    try:
        text = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}", FAILED) from None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Failure(f"{path} must hold the data of an event as a JSON mapping: {error}", FAILED) from None


def _show_entries(entries: tuple[ReactorEntry, ...], rules: tuple[NativeRule, ...], out: str) -> None:
    if out != "text":
        shown: list[dict[str, Any]] = [
            {"tag": each.tag, "sls": list(each.sls), "place": each.place} for each in entries
        ]
        output.document([*shown, *({"tag": _tag(one), "rule": one.name, "place": one.place} for one in rules)], out)
    elif entries or rules:
        rows = [(each.tag, " ".join(each.sls), each.place) for each in entries]
        rows += [(_tag(rule), f"rule {rule.name}", rule.place) for rule in rules]
        output.table(("tag", "sls", "place"), rows)
    else:
        output.remark("no reactors are configured; the options are `reactor` and `rules`, see docs/reactors.md")


def _tag(rule: NativeRule) -> str:
    return rule.match.tag or f"/{rule.match.regex}/"


def _show_firings(firings: list[Replayed]) -> None:
    for each in firings:
        what = f"rule {each.rule}: {each.verdict}" if each.rule else " ".join(each.sls)
        click.echo(f"{output.clock(each.time)}  {output.printable(f'{each.tag}  {what}')}")
        for reaction in each.reactions:
            whom = f" on {reaction['tgt']}" if reaction["tgt"] is not None else ""
            click.echo(output.printable(f"    {reaction['type']} {reaction['fun']}{whom}"))
        for error in each.errors:
            click.echo(output.printable(f"    error: {error}"))


def _show_reactions(reactions: list[dict[str, Any]]) -> None:
    for each in reactions:
        whom = f" on {each['tgt']} ({each['tgt_type']})" if each["type"] == "local" else ""
        click.echo(output.styled(output.printable(f"{each['type']} {each['fun']}{whom}"), bold=True))
        click.echo(output.printable(f"    {each['id']} in {each['sls']}"))
        for name in ("arg", "kwarg", "ret", "batch", "subset", "timeout"):
            if each.get(name):
                for line in output.nested({name: each[name]}, 4):
                    click.echo(line)
