"""`saltern remote`: what the controller says of its remotes, and what their mirrors on this machine hold."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, UNREACHABLE, Failure
from controller.cli.trees import source_of
from controller.schema.remotes import FetchView, RemoteStatus

if TYPE_CHECKING:
    from gitfs.config.settings import RemoteSettings
    from gitfs.mirror.mirror import Mirror
    from gitfs.source import Source

_POLL = 0.1
_MOST_SHOWN = 50


@click.group("remote")
def remote_command() -> None:
    """The git remotes."""


@remote_command.command("list")
@options.out
@options.config_dir
def list_remotes(out: str, config_dir: Path) -> None:
    """All remotes as the controller last saw them; as they are on this machine's disk when it does not answer."""
    try:
        with Client(config_dir) as client:
            remotes = client.get("/remotes", tuple[RemoteStatus, ...])
    except Failure as failure:
        if failure.code != UNREACHABLE:
            raise
        output.remark("the controller does not answer: this is what was fetched last")
        remotes = _on_disk(config_dir)
    _show_statuses(remotes, out)
    lacking = [each.name for each in remotes if not each.commit and each.error]
    if lacking and any(each.last_fetch and not each.commit and not each.error for each in remotes):
        output.remark(f"nothing goes live before {', '.join(lacking)} has been fetched, too")
    if not remotes:
        output.remark("no remote is configured; see gitfs_remotes in the controller's configuration")


@remote_command.command("fetch")
@click.argument("names", nargs=-1)
@click.option("-t", "--timeout", default=60.0, show_default=True, help="Seconds to wait for the remotes.")
@options.out
@options.config_dir
def fetch(names: tuple[str, ...], timeout: float, out: str, config_dir: Path) -> int:
    """Have the controller fetch remotes now (by name or URL; all without NAMES), and wait for it."""
    from controller.schema.requests import RemotesQuestion

    with _fetching(config_dir) as client:
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


@contextlib.contextmanager
def _fetching(config_dir: Path) -> Iterator[Client]:
    """The controller. It alone writes to the mirrors: they are its user's, and what it fetches it also takes live."""
    with contextlib.ExitStack() as stack:
        try:
            client = stack.enter_context(Client(config_dir))
        except Failure as failure:
            if failure.code != UNREACHABLE:
                raise
            meanwhile = "nothing was fetched. The controller fetches all remotes when it starts; until then\n" + (
                "  `saltern remote check` asks whether they answer, and `saltern remote list` says what is here"
            )
            raise Failure(failure.message, UNREACHABLE, hint=f"{failure.hint}\n  {meanwhile}") from None
        yield client


@remote_command.command("show")
@click.argument("name")
@options.out
@options.config_dir
def show(name: str, out: str, config_dir: Path) -> None:
    """What is live of a remote, in which saltenvs, and what its mirror weighs. Needs no controller."""
    from gitfs.config.urls import redact
    from gitfs.remote_report import overview

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
            "fetched": each.fetched,
            "left_out": {f"{env}: {path}": why for env, paths in each.left_out.items() for path, why in paths.items()},
        }
        for each in found
    ]
    if out != "text":
        output.document(views, out)
        return
    for view, each in zip(views, found, strict=True):
        shown = {**view, "fetched": output.ago(each.fetched) or "never"}
        for key, value in shown.items():
            for line in _lines(key, value):
                click.echo(line)


@remote_command.command("check")
@click.argument("names", nargs=-1)
@click.option("-t", "--timeout", default=60.0, show_default=True, help="Seconds to wait for the remotes.")
@options.out
@options.config_dir
def check(names: tuple[str, ...], timeout: float, out: str, config_dir: Path) -> int:
    """Ask remotes whether they answer with these credentials. Fetches nothing, needs no controller."""
    from gitfs.errors import FetchFailed

    with source_of(config_dir) as source:
        remotes = [settings for settings, _ in _mirrors(source, names)]
        answers = [
            {"name": settings.name, "refs": 0, "error": found.reason}
            if isinstance(found, FetchFailed)
            else {"name": settings.name, "refs": found, "error": ""}
            for settings, found in zip(remotes, source.ask(remotes, patience=timeout), strict=True)
        ]
    _say(answers, out, lambda answer: f"ok, {answer['refs']} refs")
    return FAILED if any(answer["error"] for answer in answers) else OK


@remote_command.command("verify")
@click.argument("names", nargs=-1)
@options.out
@options.config_dir
def verify(names: tuple[str, ...], out: str, config_dir: Path) -> int:
    """Read everything that is live from the mirrors; one that is damaged is rebuilt by the next fetch."""
    from gitfs.remote_report import verify as faults_of

    answers: list[dict[str, object]] = []
    with source_of(config_dir) as source:
        for settings, mirror in _mirrors(source, names):
            answers.append({"name": settings.name, "error": "; ".join(faults_of(mirror))})
    _say(answers, out, lambda _: "ok")
    return FAILED if any(answer["error"] for answer in answers) else OK


def _say(answers: Sequence[Mapping[str, object]], out: str, well: Callable[[Mapping[str, object]], str]) -> None:
    if out != "text":
        output.document(list(answers), out)
        return
    for answer in answers:
        click.echo(f"{answer['name']}: {output.printable(str(answer['error'])) or well(answer)}")


def _on_disk(config_dir: Path) -> tuple[RemoteStatus, ...]:
    """The remotes as their mirrors are, for when the controller does not answer."""
    from gitfs.config.urls import redact
    from gitfs.remote_report import last_fetch

    with source_of(config_dir) as source:
        trees = source.live()
        places, found = trees.revision.remotes, []
        for settings, mirror in _mirrors(source, ()):
            place = places.get(settings.name)
            status = RemoteStatus(
                name=settings.name,
                url=redact(settings.url),
                last_fetch=last_fetch(mirror),
                error="nothing was fetched of it" if settings.name in trees.missing else "",
            )
            if place is not None:
                status = msgspec.structs.replace(
                    status, commit=place.commit, branch=place.branch, subject=place.subject
                )
            found.append(status)
    return tuple(found)


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
    from gitfs.config.urls import canonical

    return any(name == remote.name or canonical(name) == canonical(remote.url) for name in names)


def _lines(key: str, value: object) -> list[str]:
    if not isinstance(value, dict) or not value:
        value = "-" if value in ("", {}) else value
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
