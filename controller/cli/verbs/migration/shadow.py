"""`saltern migrate shadow`: minions that have both masters, compiled by the Salt master and by the controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, NO_TARGET, OK, PENDING, Failure
from controller.cli.verbs.migration import compare_output

if TYPE_CHECKING:
    from controller.migration.salt_install import SaltInstall
    from controller.schema.fleet.comparisons import MinionComparison, SaltsSide

_DIR = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)
_SILENT = "the Salt master has no answer of it: it is not connected there, or took too long (--timeout)"


@click.command("shadow")
@click.argument("target", default="*", shell_complete=offers.minions)
@options.targeting
@click.option("--salt", type=click.Path(path_type=Path), metavar="PATH", help="Virtualenv or Python that has Salt.")
@click.option(
    "--salt-config", type=_DIR, default="/etc/salt", show_default=True, help="Folder of the master's configuration."
)
@click.option(
    "--low-file", "low", type=_FILE, help="What `salt --static --out json TARGET state.show_lowstate` has printed."
)
@click.option("--pillar-file", "pillar", type=_FILE, help="The same of `pillar.items unmask=True`, with --low-file.")
@click.option("--timeout", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Seconds for minions.")
@click.option("--out", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@options.config_dir
def shadow_command(
    target: str, kind: str | None, low: Path | None, pillar: Path | None, out: str, config_dir: Path, **asked: Any
) -> int:
    """Compare what the Salt master compiles for minions that have both masters with what the controller does.

    TARGET (a glob) means minions of the controller [default: all]. On the Salt master its minions are asked by
    `state.show_lowstate` and `pillar.items`, which change nothing; elsewhere --low-file and --pillar-file have theirs.
    Of the pillar, keys are shown and no values. The exit code is 0 when all compile to the same, and 2 when some do not
    or were not compared.
    """
    from controller.migration.compare import report_of
    from controller.schema.minions import StatusView

    if low is None and pillar is not None:
        raise click.UsageError("--pillar-file is compared beside --low-file")
    with Client(config_dir) as client:
        found = client.get("/status", StatusView, expression=target, kind=kind or "glob")
        minions = [each.minion for each in found.minions]
        if not minions:
            raise Failure(f"no minion matches {target!r}", NO_TARGET, hint="`saltern status` lists the minions")
        if low is not None:
            version, compared = "of the files", list(_read(client, minions, low, pillar))
        else:
            install = _salt(asked["salt"])
            version = install.version
            compared = list(_compared(client, install, asked["salt_config"], minions, asked["timeout"]))
    report = report_of(version, compared, ())
    if out == "json":
        output.document(report, "json")
    else:
        for line in compare_output.lines_of(report):
            click.echo(line)
    return OK if report.all_same else PENDING


def _salt(given: Path | None) -> SaltInstall:
    from controller.migration.salt_install import SaltMissing, find_salt

    try:
        return find_salt(given)
    except SaltMissing as error:
        raise Failure(
            str(error), FAILED, hint="run it on the Salt master, or name its virtualenv with --salt"
        ) from None


def _compared(
    client: Client, install: SaltInstall, config: Path, minions: Sequence[str], timeout: float
) -> Iterator[MinionComparison]:
    from controller.migration.asked_master import TOGETHER, MasterFailed, ask_master

    for first in range(0, len(minions), TOGETHER):
        some = minions[first : first + TOGETHER]
        try:
            said = ask_master(install, config, some, timeout)
        except MasterFailed as error:
            hint = "it runs on the Salt master, as the user of salt-master; --salt-config names its folder"
            raise Failure(str(error), FAILED, hint=hint) from None
        yield from _each(client, some, said)


def _read(client: Client, minions: Sequence[str], low: Path, pillar: Path | None) -> Iterator[MinionComparison]:
    from controller.migration.asked_master import MasterFailed, read_master

    try:
        said = read_master(minions, low, pillar)
    except MasterFailed as error:
        raise Failure(str(error), FAILED) from None
    yield from _each(client, minions, said)


def _each(client: Client, minions: Sequence[str], said: Mapping[str, SaltsSide]) -> Iterator[MinionComparison]:
    from controller.schema.fleet.comparisons import MinionComparison

    for minion in minions:
        if minion in said:
            yield client.post("/compare/master", said[minion], MinionComparison)
        else:
            yield MinionComparison(minion=minion, verdict="not compared", why=_SILENT)
