"""`saltern cp`."""

from __future__ import annotations

import base64
import gzip
import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, USAGE, Failure
from controller.schema.minions import StatusView
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallReturn
from controller.schema.targets import TargetExpression
from minion.call.outputters.as_json import as_json
from minion.call.outputters.nested import nested
from minion.modules.cp import RECEIVED_BYTES

CHUNK_BYTES = 256 * 1024
"""Of a file that are sent at once."""
MINIONS_AT_ONCE = 32
"""Minions that get a piece at the same time: what waits for them in the controller has a limit."""


class _File(NamedTuple):
    source: Path
    dest: str


@click.command("cp")
@click.argument("target", shell_complete=offers.minions)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE... DEST")
@options.targeting
@click.option("-t", "--timeout", type=click.FloatRange(0.1), default=30.0, show_default=True, help="Of each piece.")
@click.option(
    "--chunked", is_flag=True, expose_value=False, help="Taken as salt-cp takes it: files are always sent in pieces."
)
@click.option("-n", "--no-compression", is_flag=True, help="Send the pieces as they are.")
@click.option("--mode", default=None, help="Mode of the files; without it that of each source.")
@click.option("--out", "--output", type=click.Choice(("json", "yaml", "nested")), default="nested", show_default=True)
@click.option("--out-indent", "--output-indent", type=int, default=4, help="Of JSON; negative: all in one line.")
@click.option("-s", "--static", is_flag=True, expose_value=False, help="Taken as salt-cp takes it.")
@options.config_dir
def cp_command(
    target: str,
    sources: tuple[str, ...],
    kind: str | None,
    timeout: float,
    no_compression: bool,
    mode: str | None,
    out: str,
    out_indent: int,
    config_dir: Path,
) -> int:
    """Copy the files SOURCE to the path DEST on the minions that TARGET (a glob) matches.

    With several sources, and with a DEST that ends with a slash, DEST is a folder. A file may have 64 MiB.
    """
    if len(sources) < 2:
        raise click.UsageError("SOURCE and DEST are needed")
    files = _files(sources[:-1], sources[-1])
    returns: dict[str, dict[str, Any]] = {}
    with Client(config_dir) as client:
        view = client.get("/status", StatusView, expression=target, kind=kind or "glob")
        minions = sorted(one.minion for one in view.minions)
        returns = {minion: {} for minion in minions}
        for file in files:
            for group in _groups(minions):
                for minion, value in _Copy(client, file, timeout, not no_compression, mode).to(group).items():
                    returns[minion][file.dest] = value
    _show(returns, out, out_indent if out_indent >= 0 else None)
    return OK if all(value is True for one in returns.values() for value in one.values()) else FAILED


class _Copy(NamedTuple):
    """One file on its way."""

    client: Client
    file: _File
    timeout: float
    compressed: bool
    mode: str | None

    def to(self, minions: Sequence[str]) -> dict[str, Any]:
        """Send it to these minions: True, or why not, of each."""
        done: dict[str, Any] = {}
        going = list(minions)
        mode = self.mode or f"{self.file.source.stat().st_mode & 0o7777:04o}"
        for number, (piece, last) in enumerate(_pieces(self.file.source)):
            data = gzip.compress(piece) if self.compressed else piece
            named = {"chunk": base64.b64encode(data).decode(), "append": number > 0, "last": last, "mode": mode}
            question = CallQuestion(
                target=TargetExpression(kind="list", expression=",".join(going)),
                fun="cp.recv_chunked",
                args=(self.file.dest,),
                kwargs=named | {"compressed": self.compressed},
                timeout=self.timeout,
            )
            for item in self.client.stream("/call", question):
                if isinstance(item, CallReturn) and (item.value is not True or last):
                    done[item.minion] = item.error if item.error and item.value is None else item.value
            going = [minion for minion in going if minion not in done]
            if not going:
                break
        return done


def _files(sources: Sequence[str], dest: str) -> list[_File]:
    """What goes where. Failure for files that are not there or too large."""
    files = []
    for source in map(Path, sources):
        if not source.is_file():
            raise Failure(f"{source} is no file", USAGE, hint="name files of this machine; folders are not copied")
        if source.stat().st_size > RECEIVED_BYTES:
            hint = "bring it in the tree (file.managed), or by a URL"
            raise Failure(f"{source} has more than {RECEIVED_BYTES // 1024**2} MiB", USAGE, hint=hint)
        inside = dest.endswith("/") or len(sources) > 1
        files.append(_File(source, posixpath.join(dest, source.name) if inside else dest))
    return files


def _pieces(source: Path) -> Iterator[tuple[bytes, bool]]:
    """The pieces of a file, and whether each is the last; an empty file has one."""
    with source.open("rb") as file:
        piece = file.read(CHUNK_BYTES)
        while True:
            following = file.read(CHUNK_BYTES)
            yield piece, not following
            if not following:
                return
            piece = following


def _groups(minions: Sequence[str]) -> Iterator[Sequence[str]]:
    return (minions[first : first + MINIONS_AT_ONCE] for first in range(0, len(minions), MINIONS_AT_ONCE))


def _show(returns: dict[str, dict[str, Any]], out: str, indent: int | None) -> None:
    if out == "json":
        click.echo(as_json(returns, indent))
    elif out == "yaml":
        output.salt_document(returns, out)
    else:
        click.echo("\n".join(nested(returns, 0, output.coloured())))
