"""Reads the controller's configuration for a verb."""

from __future__ import annotations

import os
from pathlib import Path

from controller.cli.config_folder import check_folder
from controller.cli.failure import USAGE, Failure
from controller.config.settings import (
    DEFAULT_CONFIG_DIR,
    BadControllerSettings,
    ControllerSettings,
    check_engines,
    check_executor,
    check_git,
    load_settings,
)


def socket_of(config_dir: Path) -> Path:
    """Where the controller answers: SALTERN_SOCKET, else what the configuration says.

    Users whom the controller lets in (docs/access.md) need not be able to read its configuration, which has secrets.
    """
    if given := os.environ.get("SALTERN_SOCKET"):
        return Path(given)
    if config_dir == DEFAULT_CONFIG_DIR and not _is_readable(config_dir):
        return ControllerSettings().socket
    return settings_of(config_dir).socket


def _is_readable(config_dir: Path) -> bool:
    file = config_dir / "controller"
    try:
        return not file.exists() or os.access(file, os.R_OK)
    except OSError:
        return False


def settings_of(config_dir: Path, *, whole: bool = False) -> ControllerSettings:
    """The configuration (`whole`: what gitfs reads, too), or a Failure that shows every fault in it."""
    check_folder(config_dir)
    try:
        settings = load_settings(config_dir)
        if whole:
            check_git(settings)
            check_engines(settings)
            check_executor(settings)
    except BadControllerSettings as error:
        faults = [str(fault) for fault in error.faults]
        raise Failure("the configuration cannot be used", USAGE, problems=faults) from None
    return settings
