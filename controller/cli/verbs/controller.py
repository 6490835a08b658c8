"""`saltern controller`."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from controller.cli import options
from controller.cli.config_folder import missing_configuration
from controller.cli.configuration import settings_of
from controller.cli.failure import USAGE, Failure
from controller.config.values import LOG_LEVELS, nearest_level


@click.command("controller")
@click.option("-l", "--log-level", type=click.Choice(LOG_LEVELS), help="Instead of the configuration's log_level.")
@click.option("--check", is_flag=True, help="Only read the configuration; exit 0 when it can be used.")
@options.config_dir
def controller_command(log_level: str | None, check: bool, config_dir: Path) -> int:
    """Run the controller until it is told to stop (Ctrl-C, SIGTERM)."""
    settings = settings_of(config_dir, whole=True)
    for note in settings.notes:
        click.echo(f"saltern: {note}", err=True)
    if nothing := missing_configuration(config_dir):
        if check or not config_dir.is_dir():
            raise Failure(nothing, USAGE, hint="docs/configuration.md names the options; gitfs_remotes is the first")
        click.echo(f"saltern: {nothing}: the defaults hold, and no remote is followed", err=True)
    if check:
        click.echo(f"{settings.config_dir} can be used", err=True)
        return 0
    if log_level is not None:
        settings = replace(settings, log_level=nearest_level(log_level))
    os.umask(0o077)
    leave_out_rich()
    return_freed_memory()
    from gitfs.fetching.fork_server import ForkServer

    # Before the rest is imported and threads are started: its children have what is in memory now.
    gc.freeze()  # the collector would write to each object, and so make a copy of what is shared with the fork
    fork_server = ForkServer()
    from controller.api.listening import CannotListen
    from controller.app import main
    from controller.store import StoreError
    from wire.errors import WireError

    try:
        return main(settings, fork_server)
    except (CannotListen, StoreError, WireError, OSError) as error:
        hint = "run it as root or as the user of its folders, or set another root_dir"
        hint = hint if isinstance(error, PermissionError) else ""
        raise Failure(f"the controller cannot run: {error}", hint=hint) from None


_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3)."""
MAPPED_BYTES = 4 * 1024 * 1024
"""What takes so much at once goes back to the system when it is freed."""
KEPT_BYTES = 8 * 1024 * 1024
"""So much free memory is kept for what is asked for next."""


def return_freed_memory() -> None:
    """Have glibc keep its thresholds. By itself it learns from one message of 15 MiB to keep 30 MiB of free memory."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none, and keeps nothing
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)


def leave_out_rich() -> None:
    """Have structlog not load rich, which takes 4 MiB: it is for tracebacks on a terminal, and this log is logfmt."""
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type]  # the documented way to have an import fail
