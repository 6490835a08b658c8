"""Whether the folder of a configuration is there; for verbs that run without the controller's libraries, too."""

from __future__ import annotations

from pathlib import Path

from controller.cli import options
from controller.cli.failure import USAGE, Failure

_HINT = "-c (SALTERN_CONFIG_DIR) names the folder of a configuration"


def check_folder(config_dir: Path) -> None:
    """A Failure for a folder that was named and is not there, or cannot be reached; the default one may be missing."""
    try:
        there = config_dir.is_dir()
    except PermissionError as error:
        hint = "run it as a user who may read the configuration, or as root"
        raise Failure(f"{error.filename}: {error.strerror}", hint=hint) from None
    if config_dir != options.DEFAULT_CONFIG_DIR and not there:
        raise Failure(f"there is no folder {config_dir}", USAGE, hint=_HINT)


def require_configuration(config_dir: Path) -> None:
    """A Failure for a folder without any configuration of a controller."""
    if missing := missing_configuration(config_dir):
        raise Failure(missing, USAGE, hint=_HINT)


def missing_configuration(config_dir: Path) -> str:
    """What is missing in a folder without any configuration of a controller."""
    if not config_dir.is_dir():
        return f"there is no folder {config_dir}"
    there = (config_dir / "controller").exists() or any((config_dir / "controller.d").glob("*.conf"))
    return "" if there else f"there is no configuration in {config_dir} (controller, controller.d/*.conf)"
