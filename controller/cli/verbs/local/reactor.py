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
    """List the tags that are answered, and their SLS."""
    _show_entries(_settings(config_file, config_dir).reactor.entries, out)
    return 0


@reactor_command.command("match")
@click.argument("tag")
@_config
@_OUT
@options.config_dir
def match_command(tag: str, config_file: Path | None, out: str, config_dir: Path) -> int:
    """List what answers events of TAG. The exit code is 1 when nothing does."""
    found = _settings(config_file, config_dir).reactor.matching(tag)
    if not found and out == "text":
        output.remark(f"no reactor answers {output.printable(tag)}; `saltern reactor list` shows all")
    else:
        _show_entries(found, out)
    return 0 if found else FAILED


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
    from controller.offline.reacting import try_reactors
    from reactors.rules.reactor_map import sls_of

    settings = _settings(config_file, config_dir)
    event = _event(data)
    sls = sls_of(settings.reactor.matching(tag))
    if not sls:
        output.remark(f"no reactor answers {output.printable(tag)}; `saltern reactor list` shows all")
    tested = try_reactors(
        settings, sls, tag=tag, data=event, git_files=_remotes(settings, config_file, config_dir), timeout=timeout
    )
    for warning in tested.warnings:
        output.remark(f"warning: {output.printable(warning)}")
    if out == "text":
        _show_reactions(tested.reactions)
    else:
        output.document(tested.reactions, out)
    if tested.errors:
        errors = [output.printable(error) for error in tested.errors]
        raise Failure(f"{tag}: {output.counted(len(errors), 'error')}", COMPILE, problems=errors)
    return 0


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


def _show_entries(entries: tuple[ReactorEntry, ...], out: str) -> None:
    if out != "text":
        output.document([{"tag": each.tag, "sls": list(each.sls), "place": each.place} for each in entries], out)
    elif entries:
        output.table(("tag", "sls", "place"), [(each.tag, " ".join(each.sls), each.place) for each in entries])
    else:
        output.remark("no reactors are configured; the option is `reactor`, see docs/reactors.md")


def _show_reactions(reactions: list[dict[str, Any]]) -> None:
    for each in reactions:
        whom = f" on {each['tgt']} ({each['tgt_type']})" if each["type"] == "local" else ""
        click.echo(output.styled(output.printable(f"{each['type']} {each['fun']}{whom}"), bold=True))
        click.echo(output.printable(f"    {each['id']} in {each['sls']}"))
        for name in ("arg", "kwarg", "ret", "batch", "subset", "timeout"):
            if each.get(name):
                for line in output.nested({name: each[name]}, 4):
                    click.echo(line)
