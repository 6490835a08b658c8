"""The options of a controller and of a minion as Salt's clients know them: a mapping by Salt's names.

The mapping is a copy to read and to hand on. To change it changes nothing of the controller.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extmods.salt_compat.exceptions import SaltConfigurationError
from minion.config.files import BadMinionSettings
from minion.config.salt_opts import salt_opts
from minion.config.settings import DEFAULT_CONFIG_DIR, load_settings


def client_config(path: str | os.PathLike[str] = "") -> dict[str, Any]:
    """The options of the controller on this machine, by their names; secrets stand as `***`.

    Args:
        path: of the configuration, `/etc/saltern/controller`, or of its folder; empty: `SALTERN_CONFIG_DIR`, or
            `/etc/saltern`.

    Raises:
        SaltConfigurationError: it cannot be read, or is wrong; the text has every fault with its file and line.

    Source: salt.config.client_config and master_config.
    """
    from controller.cli.configuration import (
        settings_of,
        socket_of,
    )  # the controller's libraries, which `Caller` does without
    from controller.cli.failure import Failure
    from controller.runners.option_values import option_values

    folder = folder_of(path)
    named = {"conf_file": str(folder / "controller"), "config_dir": str(folder), "__role": "master"}
    try:
        if not _is_readable(folder):  # a user whom the controller lets in need not read it (docs/access.md)
            return {**named, "sock_dir": str(socket_of(folder).parent), "transport": "zeromq"}
        settings = settings_of(folder)
    except Failure as failure:
        told = (failure.message, *failure.problems, failure.hint)
        raise SaltConfigurationError("; ".join(each for each in told if each)) from None
    return {**option_values(settings), **named, "sock_dir": str(settings.socket.parent), "transport": "zeromq"}


def minion_config(path: str | os.PathLike[str] = "") -> dict[str, Any]:
    """The options of the minion on this machine, by their names.

    Args:
        path: of the configuration, `/etc/saltern/minion`, or of its folder; empty: as for `client_config`.

    Raises:
        SaltConfigurationError: as for `client_config`.

    Source: salt.config.minion_config.
    """
    try:
        return salt_opts(load_settings(folder_of(path)))
    except BadMinionSettings as error:
        raise SaltConfigurationError(str(error)) from None


def folder_of(path: str | os.PathLike[str]) -> Path:
    """The folder of a configuration that is named by its file or folder."""
    if not path:
        return Path(os.environ.get("SALTERN_CONFIG_DIR") or DEFAULT_CONFIG_DIR)
    # `Path.is_dir` raises PermissionError where the folder may not be entered.
    return Path(path) if os.path.isdir(path) else Path(path).parent  # noqa: PTH112


def _is_readable(folder: Path) -> bool:
    try:
        return not (folder / "controller").exists() or os.access(folder / "controller", os.R_OK)
    except OSError:
        return False


def config_dir_of(opts: Mapping[str, Any]) -> Path:
    """The folder of the configuration that options were read from."""
    folder = opts.get("config_dir") or opts.get("conf_file")
    return folder_of(str(folder) if folder else "")
