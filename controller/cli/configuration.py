"""Reads the controller's configuration for a verb."""

from __future__ import annotations

from pathlib import Path

from controller.cli.config_folder import check_folder
from controller.cli.failure import USAGE, Failure
from controller.config.settings import (
    BadControllerSettings,
    ControllerSettings,
    check_engines,
    check_git,
    load_settings,
)


def settings_of(config_dir: Path, *, whole: bool = False) -> ControllerSettings:
    """The configuration (`whole`: what gitfs reads, too), or a Failure that shows every fault in it."""
    check_folder(config_dir)
    try:
        settings = load_settings(config_dir)
        if whole:
            check_git(settings)
            check_engines(settings)
    except BadControllerSettings as error:
        faults = [str(fault) for fault in error.faults]
        raise Failure("the configuration cannot be used", USAGE, problems=faults) from None
    return settings
