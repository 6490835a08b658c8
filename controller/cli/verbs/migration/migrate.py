"""`saltern migrate`: what of a Salt master and its trees works here, and how its minions compile with both."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller.cli import output
from controller.cli.compile_inputs import facts_of, language_of
from controller.cli.failure import FAILED, OK, PENDING, USAGE, Failure
from controller.cli.trees import Layers, configured_layers
from controller.cli.verbs.migration import check_output, compare_output
from controller.cli.verbs.migration.agents import agent_command, status_command
from controller.cli.verbs.migration.shadow import shadow_command

if TYPE_CHECKING:
    from controller.migration.check import Configuration
    from controller.migration.compare import CompareReport, Sides
    from controller.migration.items import CheckReport
    from controller.migration.salt_install import SaltInstall

_DIR = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)
_NO_SALT = (
    "run it on the Salt master, or give it a virtualenv: `python3 -m venv DIR`, `DIR/bin/pip install salt`, "
    "and --salt DIR"
)


@click.group("migrate", no_args_is_help=True)
def migrate_command() -> None:
    """From Salt: check a configuration and its trees, compare what minions compile to, and replace their agents."""


migrate_command.add_command(shadow_command)


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


@migrate_command.command("compare")
@click.argument("folder", metavar="DIR", default="/etc/salt", type=_DIR)
@click.option("--salt", type=click.Path(path_type=Path), metavar="PATH", help="Virtualenv or Python that has Salt.")
@click.option("--cachedir", type=_DIR, help="Cache of the Salt master.  [default: cachedir of its configuration]")
@click.option("--minions", "pattern", default="*", show_default=True, metavar="GLOB", help="Minions to compare.")
@click.option("--most", type=click.IntRange(min=0), default=0, help="Compare at most so many of them; 0: all.")
@click.option("--facts", type=_FILE, help="Recorded answers of functions that need the machine (YAML or JSON list).")
@click.option(
    "--root", type=_DIR, default="/", show_default=True, help="Stands before absolute paths: a copy of a machine."
)
@click.option("--fetch", is_flag=True, help="Fetch the git remotes, and compile their trees, too.")
@click.option("--timeout", type=click.FloatRange(min=0.001), default=60.0, show_default=True, help="Seconds a minion.")
@click.option("--memory", type=click.IntRange(min=0), default=4096, show_default=True, help="MiB a side; 0: no bound.")
@click.option("--out", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def compare_command(
    folder: Path, salt: Path | None, root: Path, fetch: bool, facts: Path | None, out: str, **how: Any
) -> int:
    """Compile every minion with Salt and with Saltern, and show the low chunks that differ.

    DIR is that of a Salt master [default: /etc/salt], which is left as it is; grains come from its cache. Functions of
    a minion that templates call are not run: their answers can be given with --facts. The exit code is 0 when all
    minions compile to the same, and 2 when some do not or were not compared.
    """
    from controller.migration.compare import Sides, TooLarge

    install = _salt(salt)
    configuration = read(folder, root)
    if "master" not in configuration.has:
        raise Failure(
            f"{folder} has no configuration of a master", USAGE, hint="its minions are those that are compared"
        )
    with layers_of(configuration, fetch=fetch) as (git_files, git_pillar):
        sides = Sides(
            configuration=configuration,
            root=root.absolute(),
            options=_language(configuration),
            git_files=git_files,
            git_pillar=git_pillar,
            facts=_facts(facts),
            timeout=how["timeout"],
            memory=how["memory"] << 20,
        )
        try:
            report = _compared(sides, install, how["cachedir"], how["pattern"], how["most"])
        except TooLarge as error:
            raise Failure(str(error), FAILED) from None
    if out == "json":
        output.document(report, "json")
    else:
        for line in compare_output.lines_of(report):
            click.echo(line)
    return OK if report.all_same else PENDING


migrate_command.add_command(agent_command)
migrate_command.add_command(status_command)


def _salt(given: Path | None) -> SaltInstall:
    from controller.migration.salt_install import SaltMissing, find_salt

    try:
        return find_salt(given)
    except SaltMissing as error:
        raise Failure(str(error), FAILED, hint=_NO_SALT) from None


def _language(configuration: Configuration) -> dict[str, Any]:
    """Options of the language in the converted configuration."""
    from controller.cli.configuration import settings_of
    from controller.migration.trial import text_of

    with tempfile.TemporaryDirectory(prefix="saltern-migrate-") as folder:
        Path(folder, "controller").write_text(text_of(configuration.master.taken), encoding="utf-8")
        options = language_of(settings_of(Path(folder)).language)
    keys = configuration.folder.path / "gpgkeys"
    return options if "gpg_keydir" in options or not keys.is_dir() else {**options, "gpg_keydir": str(keys)}


def _facts(path: Path | None) -> list[Any]:
    from controller.migration.limits import FACTS
    from controller.offline import BadCase, parse_case

    facts = facts_of(path)
    if len(facts) > FACTS:
        raise Failure(f"{path} has more than {FACTS} answers", USAGE)
    try:
        parse_case({"facts": facts})
    except BadCase as error:
        raise Failure(f"{path}: {error}", USAGE) from None
    return facts


def _compared(sides: Sides, install: SaltInstall, cachedir: Path | None, pattern: str, most: int) -> CompareReport:
    from controller.migration.cached_minions import cached_minions, evenly
    from controller.migration.check import cache_of, not_fetched
    from controller.migration.compare import compare, report_of, salt_world
    from controller.migration.salt_process import SaltFailed, SaltProcess
    from options.bounded_files import FileRefused

    cachedir = cachedir or cache_of(sides.configuration, sides.root)
    try:
        cached = cached_minions(cachedir, pattern)
    except FileRefused as error:
        raise Failure(str(error), FAILED) from None
    if not cached.files:
        hint = "name the cache with --cachedir; `salt '*' saltutil.refresh_pillar` fills it"
        raise Failure(
            f"{cachedir} has no grains of minions" + ("" if pattern == "*" else f" like {pattern}"), hint=hint
        )
    ids = evenly(list(cached.files), most)
    with tempfile.TemporaryDirectory(prefix="saltern-migrate-") as scratch:
        world = salt_world(sides, Path(scratch))
        with SaltProcess(install=install, world=world, timeout=sides.timeout, memory=sides.memory) as salt:
            try:
                salt.start()
            except SaltFailed as error:
                raise Failure(str(error), FAILED) from None
            found = list(compare(sides, salt, cached, ids, lambda done: _progress(done, len(ids))))
    left = [] if len(ids) == len(cached.files) else [f"{len(cached.files) - len(ids)} more minions (--most)"]
    not_read = [*left, *sides.configuration.folder.not_read, *cached.not_read]
    not_read += not_fetched(sides.configuration, sides.git_files, sides.git_pillar)
    return report_of(install.version, found, not_read)


def _progress(done: int, of: int) -> None:
    if done % 100 == 0 and done < of:
        output.remark(f"{done} of {of} minions")


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
    for line in check_output.lines_of(report, whole=whole):
        click.echo(line)
    for path in report.written:
        output.remark(output.printable(f"written: {path}"))
