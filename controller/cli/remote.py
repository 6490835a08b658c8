"""`saltern remote`: what the controller says of its remotes, and what their mirrors on this machine hold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, Failure
from controller.cli.trees import source_of
from controller.views import FetchView, RemoteStatus

if TYPE_CHECKING:
    from gitfs import RemoteSettings, Source
    from gitfs.mirror import Mirror

_POLL = 0.1
_MOST_SHOWN = 50


@click.group("remote")
def remote_command() -> None:
    """The git remotes."""


@remote_command.command("list")
@options.out
@options.config_dir
def list_remotes(out: str, config_dir: Path) -> None:
    """All remotes as the controller last saw them."""
    with Client(config_dir) as client:
        remotes = client.get("/remotes", tuple[RemoteStatus, ...])
    _show_statuses(remotes, out)
    if not remotes:
        output.remark("no remote is configured; see gitfs_remotes in the controller's configuration")


@remote_command.command("fetch")
@click.argument("names", nargs=-1)
@click.option("-t", "--timeout", default=60.0, show_default=True, help="Seconds to wait for the remotes.")
@options.out
@options.config_dir
def fetch(names: tuple[str, ...], timeout: float, out: str, config_dir: Path) -> int:
    """Have the controller fetch remotes now (by name or URL; all without NAMES), and wait for it."""
    from controller.questions import RemotesQuestion

    with Client(config_dir) as client:
        before = client.get("/remotes", tuple[RemoteStatus, ...])
        client.post("/remotes/fetch", RemotesQuestion(names=names), FetchView)
        asked = {each.name: each.last_fetch for each in before if not names or _is_named(each, names)}
        deadline = time.monotonic() + timeout
        while True:
            remotes = [each for each in client.get("/remotes", tuple[RemoteStatus, ...]) if each.name in asked]
            waiting = [each.name for each in remotes if each.last_fetch == asked[each.name] and not each.error]
            if not waiting or time.monotonic() > deadline:
                break
            time.sleep(_POLL)
    _show_statuses(remotes, out)
    if waiting:
        output.remark(f"still waiting for {', '.join(waiting)}")
    return FAILED if waiting or any(each.error for each in remotes) else OK


@remote_command.command("show")
@click.argument("name")
@options.out
@options.config_dir
def show(name: str, out: str, config_dir: Path) -> None:
    """What is live of a remote, in which saltenvs, and what its mirror weighs. Needs no controller."""
    from gitfs import redact
    from gitfs.inspection import overview

    with source_of(config_dir) as source:
        found = [overview(mirror, settings) for settings, mirror in _mirrors(source, [name])]
    views = [
        {
            "name": each.settings.name,
            "url": redact(each.settings.url),
            "root": each.settings.root,
            "mountpoint": each.settings.mountpoint,
            "saltenvs": dict(each.saltenvs),
            "branches": dict(each.heads),
            "tags": dict(each.tags),
            "disk_bytes": each.disk_bytes,
            "packs": each.packs,
            "damaged": each.damaged,
        }
        for each in found
    ]
    if out != "text":
        output.document(views, out)
        return
    for view in views:
        for key, value in view.items():
            for line in _lines(key, value):
                click.echo(line)


@remote_command.command("check")
@click.argument("names", nargs=-1)
@options.config_dir
def check(names: tuple[str, ...], config_dir: Path) -> int:
    """Ask remotes whether they answer with these credentials. Fetches nothing, needs no controller."""
    from gitfs import FetchFailed
    from gitfs.inspection import ask

    code = OK
    with source_of(config_dir) as source:
        for settings, _ in _mirrors(source, names):
            try:
                click.echo(f"{settings.name}: ok, {len(ask(settings))} refs")
            except FetchFailed as error:
                click.echo(f"{settings.name}: {output.printable(error.reason)}")
                code = FAILED
    return code


@remote_command.command("verify")
@click.argument("names", nargs=-1)
@options.config_dir
def verify(names: tuple[str, ...], config_dir: Path) -> int:
    """Read everything that is live from the mirrors; one that is damaged is rebuilt by the next fetch."""
    from gitfs.inspection import verify as faults_of

    code = OK
    with source_of(config_dir) as source:
        for settings, mirror in _mirrors(source, names):
            faults = faults_of(mirror)
            click.echo(f"{settings.name}: {'; '.join(output.printable(fault) for fault in faults) or 'ok'}")
            code = FAILED if faults else code
    return code


def _mirrors(source: Source, names: Sequence[str]) -> list[tuple[RemoteSettings, Mirror]]:
    """By name, all without names; each repository once when all are meant."""
    if not names:
        return [source.mirrors_of(settings.name)[0] for settings in source.remotes]
    found = []
    for name in names:
        hits = source.mirrors_of(name)
        if not hits:
            known = ", ".join(settings.name for settings in source.remotes)
            raise Failure(f"no remote {name!r}", hint=f"known are: {known}" if known else "none is configured")
        found.extend(hits)
    return found


def _is_named(remote: RemoteStatus, names: Sequence[str]) -> bool:
    from gitfs import canonical

    return any(name == remote.name or canonical(name) == canonical(remote.url) for name in names)


def _lines(key: str, value: object) -> list[str]:
    if not isinstance(value, dict):
        return [f"{key}: {output.printable(str(value))}"]
    shown = [f"  {output.printable(name)}: {what}" for name, what in list(value.items())[:_MOST_SHOWN]]
    rest = len(value) - len(shown)
    return [f"{key}: {len(value)}", *shown, *([f"  and {rest} more; --out json shows all"] if rest else [])]


def _show_statuses(remotes: Sequence[RemoteStatus], out: str) -> None:
    if out != "text":
        output.document(remotes, out)
        return
    heads = ("Remote", "Url", "Branch", "Commit", "Fetched", "Subject", "Error")
    output.table(heads, [_row(remote) for remote in remotes])


def _row(remote: RemoteStatus) -> tuple[str, ...]:
    fetched = output.ago(remote.last_fetch)
    return (remote.name, remote.url, remote.branch, remote.commit[:12], fetched, remote.subject, remote.error)
