"""`saltern backup`: the store, keys and configuration of a controller as one archive, and back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from controller.cli import options, output
from controller.cli.config_folder import require_configuration
from controller.cli.configuration import settings_of
from controller.cli.failure import FAILED, OK, Failure

if TYPE_CHECKING:
    from controller.backup.archive import BackupMade

_force = click.option("--force", is_flag=True, help="Replace what is there.")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("backup", no_args_is_help=True)
def backup_command() -> None:
    """Backups of a controller (docs/operations.md). They hold secrets: its keys, and pillar as it was compiled."""


@backup_command.command("create")
@click.argument("file", required=False, type=_FILE)
@_force
@options.out
@options.config_dir
def create_command(file: Path | None, force: bool, out: str, config_dir: Path) -> int:
    """Write the archive FILE, by default saltern-TIME.tar.gz; the controller may run meanwhile."""
    from controller.backup.archive import create

    require_configuration(config_dir)
    path = file or Path(f"saltern-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.tar.gz")
    return _told(lambda: create(settings_of(config_dir), path, overwrite=force), "written", out)


@backup_command.command("restore")
@click.argument("file", type=_FILE)
@_force
@options.out
@options.config_dir
def restore_command(file: Path, force: bool, out: str, config_dir: Path) -> int:
    """Put store and keys of the archive FILE in their places; the controller must not run.

    The store goes where `store_url` says, from SQLite to PostgreSQL too. The configuration stays as it is.
    """
    from controller.backup.archive import restore

    require_configuration(config_dir)
    return _told(lambda: restore(settings_of(config_dir), file, overwrite=force), "restored", out)


def _told(act: Callable[[], BackupMade], verb: str, out: str) -> int:
    from controller.backup.archive import BackupError

    os.umask(0o077)
    try:
        made = act()
    except (BackupError, OSError) as error:
        raise Failure(str(error), FAILED) from None
    if out != "text":
        output.document({"path": str(made.path), "bytes": made.size, **structs.asdict(made.manifest)}, out)
        return OK
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(made.manifest.made_at))
    click.echo(f"{verb}: {made.path}, {made.size / 2**20:.1f} MiB, of {when}, Saltern {made.manifest.version}")
    return OK
