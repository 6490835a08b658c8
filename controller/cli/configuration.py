"""Reads the controller's configuration for a verb."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from controller.cli.config_folder import check_folder
from controller.cli.failure import USAGE, Failure
from controller.config.places import DEFAULT_CONFIG_DIR, DEFAULT_SOCK_DIR, known_socket, socket_in

if TYPE_CHECKING:
    from controller.config.settings import ControllerSettings

_NOT_READABLE = "SALTERN_SOCKET names the socket of a controller whose configuration you cannot read"


def socket_of(config_dir: Path) -> Path:
    """Where the controller answers: SALTERN_SOCKET, else what the configuration says.

    Users whom the controller lets in (docs/access.md) need not be able to read its configuration, which has secrets.
    """
    if given := os.environ.get("SALTERN_SOCKET"):
        return Path(given)
    if is_guessed(config_dir):
        return socket_in(DEFAULT_SOCK_DIR)
    check_folder(config_dir)
    return known_socket(config_dir) or settings_of(config_dir).socket


def is_guessed(config_dir: Path) -> bool:
    """Whether nothing says where the controller answers, as who asks cannot read its configuration."""
    return not os.environ.get("SALTERN_SOCKET") and config_dir == DEFAULT_CONFIG_DIR and not _is_readable(config_dir)


def _is_readable(config_dir: Path) -> bool:
    file = config_dir / "controller"
    try:
        return not file.exists() or os.access(file, os.R_OK)
    except OSError:
        return False


def settings_of(config_dir: Path, *, whole: bool = False) -> ControllerSettings:
    """The configuration (`whole`: what gitfs reads, too), or a Failure that shows every fault in it."""
    from controller.config import checks
    from controller.config import settings as config

    check_folder(config_dir)
    try:
        settings = checks.load_whole(config_dir) if whole else config.load_settings(config_dir)
    except config.BadControllerSettings as error:
        faults = [str(fault) for fault in error.faults]
        hint = "" if _is_readable(config_dir) else _NOT_READABLE
        raise Failure("the configuration cannot be used", USAGE, problems=faults, hint=hint) from None
    return settings
