"""`saltern restore`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, PENDING, USAGE, Failure
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallReturn
from controller.schema.targets import TargetExpression


class _Copy(NamedTuple):
    number: int
    """By which the minion knows it: the newest has 0."""
    about: Mapping[str, Any]

    def line(self) -> str:
        """It, for people."""
        made_for = f"before {self.about['State']} of run {self.about['Run']}" if self.about.get("State") else "kept"
        return output.printable(f"{self.about['Backup Time']}  {self.about['Size']} bytes  {made_for}")


@click.command("restore")
@click.argument("minion", shell_complete=offers.minions)
@click.argument("file")
@click.option("--list", "listed", is_flag=True, help="Show the copies that there are.")
@click.option("--run", "run_id", default="", help="The copy made for this run, or one that begins so.")
@click.option("--test", is_flag=True, help="Change nothing; show what would change.")
@options.out
@options.config_dir
def restore_command(minion: str, file: str, listed: bool, run_id: str, test: bool, out: str, config_dir: Path) -> int:
    """Bring back what a state overwrote or deleted at FILE on MINION: the newest copy, or that of a run."""
    if not file.startswith("/"):
        raise Failure(f"{file!r} is no absolute path", USAGE, hint="it begins with /, as the state names the file")
    with Client(config_dir) as client:
        copies = _copies(_called(client, minion, "file.list_backups", file))
        if listed:
            _show(copies, file, out)
            return OK if copies else FAILED
        copy = _chosen(copies, minion, file, run_id)
        if test:
            return _tell(client, minion, file, copy, out)
        done = _called(client, minion, "file.restore_backup", file, copy.number)
    good = isinstance(done, Mapping) and done.get("result") is True
    if out != "text":
        output.document({"minion": minion, "file": file, "copy": dict(copy.about), "restored": good}, out)
        return OK if good else FAILED
    if not good:
        raise Failure(output.printable(str(done.get("comment", done) if isinstance(done, Mapping) else done)), FAILED)
    click.echo(f"{minion}: {output.printable(file)} is as it was {copy.line()}")
    output.remark(
        f"a state that manages {file} writes it again at the next run or remediation: `saltern pause {minion}`"
        " until git says what it shall be"
    )
    return OK


def _called(client: Client, minion: str, fun: str, *arguments: Any) -> Any:
    """What a function returned; Failure where it did not."""
    target = TargetExpression(kind="list", expression=minion)
    for item in client.stream("/call", CallQuestion(target=target, fun=fun, args=arguments)):
        if isinstance(item, CallReturn):
            if not item.ok and not isinstance(item.value, Mapping):
                raise Failure(f"{minion}: {output.printable(item.error or str(item.value))}", FAILED)
            return item.value
    raise Failure(f"no minion {minion!r}", FAILED, hint="saltern status lists them")


def _copies(listed: Any) -> list[_Copy]:
    found = listed if isinstance(listed, Mapping) else {}
    return [_Copy(int(number), about) for number, about in sorted(found.items(), key=lambda item: int(item[0]))]


def _chosen(copies: list[_Copy], minion: str, file: str, run_id: str) -> _Copy:
    of_run = [one for one in copies if not run_id or str(one.about.get("Run", "")).startswith(run_id)]
    if not of_run:
        which = f" of run {run_id}" if run_id else ""
        raise Failure(
            f"{minion} has no copy{which} of {file}; `saltern restore {minion} {file} --list` shows them", FAILED
        )
    return of_run[0]


def _show(copies: list[_Copy], file: str, out: str) -> None:
    if out != "text":
        output.document([dict(one.about) for one in copies], out)
        return
    for one in copies:
        click.echo(one.line())
    if not copies:
        output.remark(f"there is no copy of {file}: no state overwrote or deleted it, or that is too long ago")


def _tell(client: Client, minion: str, file: str, copy: _Copy, out: str) -> int:
    """What restoring would change."""
    there = _called(client, minion, "file.file_exists", file)
    diff = str(_called(client, minion, "file.get_diff", file, copy.about["Location"]) or "") if there else ""
    changes = not there or bool(diff)
    if out != "text":
        output.document({"minion": minion, "file": file, "copy": dict(copy.about), "there": there, "diff": diff}, out)
    else:
        click.echo(f"{minion}: {output.printable(file)} would be as it was {copy.line()}")
        click.echo(output.printable(diff.rstrip()) if there else "  it is not there now")
    return PENDING if changes else OK
