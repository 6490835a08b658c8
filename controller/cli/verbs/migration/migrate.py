"""`saltern migrate`: what of a Salt master and its trees works here, and how its minions compile with both."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from controller.cli import output
from controller.cli.failure import FAILED, OK, PENDING, USAGE, Failure
from controller.cli.trees import Layers, configured_layers
from controller.cli.verbs.migration.check_output import lines_of

if TYPE_CHECKING:
    from controller.migration.check import Configuration
    from controller.migration.items import CheckReport

_DIR = click.Path(path_type=Path, file_okay=False)


@click.group("migrate", no_args_is_help=True)
def migrate_command() -> None:
    """From Salt: check a configuration and its trees, and compare what minions compile to."""


@migrate_command.command("check")
@click.argument("folder", metavar="DIR", default="/etc/salt", type=_DIR)
@click.option(
    "--root", type=_DIR, default="/", show_default=True, help="Stands before absolute paths: a copy of a machine."
)
@click.option("--fetch", is_flag=True, help="Fetch the git remotes, and look into their trees.")
@click.option("--write", "out_dir", type=_DIR, metavar="OUTDIR", help="Write converted files into this folder.")
@click.option("--all", "whole", is_flag=True, help="Show what works, too.")
@click.option("--out", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check_command(folder: Path, root: Path, fetch: bool, out_dir: Path | None, whole: bool, out: str) -> int:
    """Say item by item what works, what is different and what has no counterpart.

    DIR is that of a Salt master or minion [default: /etc/salt]. Its files, the trees that it names, and what stands in
    both are read; no template is rendered. The exit code is 0 when all works, and 2 when something is different, absent
    or was not looked at.
    """
    from controller.migration.check import check
    from controller.migration.converted import CannotWrite, write

    configuration = read(folder, root)
    with layers_of(configuration, fetch=fetch) as (git_files, git_pillar):
        checked = check(configuration, git_files, git_pillar, root=root.absolute())
    report = checked.report
    if out_dir is not None:
        try:
            report = _with_written(report, write(checked, out_dir.absolute()))
        except CannotWrite as error:
            raise Failure(str(error), FAILED) from None
    _show(report, out, whole=whole)
    return OK if report.all_works else PENDING


def read(folder: Path, root: Path) -> Configuration:
    """The configuration of a folder. Failure where it has none."""
    from controller.migration.check import read_configuration

    if not folder.is_dir():
        raise Failure(
            f"{folder} is no folder", USAGE, hint="name the one that has the files `master` or `minion` in it"
        )
    found = read_configuration(folder.absolute(), root.absolute())
    if not found.has:
        hint = "name the one that has the files `master` or `minion`, or folders `master.d` or `minion.d`"
        raise Failure(f"{folder} has no configuration of Salt's", USAGE, hint=hint)
    return found


@contextlib.contextmanager
def layers_of(configuration: Configuration, *, fetch: bool) -> Iterator[tuple[Layers, Layers]]:
    """The trees of the git remotes of a configuration, fetched for the occasion; none unless it is asked for."""
    from controller.migration.trial import text_of

    master = configuration.master.taken
    wanted = {
        name: value
        for name, value in master.items()
        if name.startswith(("gitfs_", "git_pillar_")) or name in ("ext_pillar", "fileserver_backend")
    }
    if not fetch or not wanted:
        yield [], []
        return
    with tempfile.TemporaryDirectory(prefix="saltern-migrate-") as folder:
        places = {"root_dir": f"{folder}/root"}
        Path(folder, "controller").write_text(text_of({**wanted, **places}), encoding="utf-8")
        with configured_layers(Path(folder)) as layers:
            yield layers


def _with_written(report: CheckReport, written: list[str]) -> CheckReport:
    import msgspec

    return msgspec.structs.replace(report, written=tuple(written))


def _show(report: CheckReport, out: str, *, whole: bool) -> None:
    if out == "json":
        output.document(report, "json")
        return
    for line in lines_of(report, whole=whole):
        click.echo(line)
    for path in report.written:
        output.remark(output.printable(f"written: {path}"))
