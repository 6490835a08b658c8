"""The configuration in Salt's shape: `config.get`, `opts` of templates and `__opts__` of extension modules read it.

This is the only place that makes it. The minion's own code reads `MinionSettings` and its groups instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minion.config.settings import MinionSettings, below_root

_PATHS_AS_WRITTEN = ("sock_dir", "pidfile", "extension_modules")
"""Salt's options of paths that are shown only when the configuration has them; `root_dir` is put before them."""


def salt_opts(settings: MinionSettings, *, local: bool = False) -> dict[str, Any]:
    """The options as the files say them, by their names, and where the minion has its files, whether said or not.

    Paths have `root_dir` in them, as those of Salt's `salt.config.minion_config` have. `local`: whether the files come
    from this machine whatever the configuration says (`--local`).
    """
    written = settings.written
    log_file = {} if settings.log_file is None else {"log_file": str(settings.log_file)}
    shown = {name: _below(settings.root_dir, path) for name in _PATHS_AS_WRITTEN if (path := written.get(name))}
    return {
        **written,
        "id": settings.id,
        "file_client": "local" if local else settings.file_client,
        "root_dir": str(settings.root_dir),
        "config_dir": str(settings.config_dir),
        "conf_file": str(settings.config_dir / "minion"),
        "pki_dir": str(settings.pki_dir),
        "cachedir": str(settings.cachedir),
        "extension_modules": str(settings.cachedir / "extmods"),
        **log_file,
        **shown,
    }


def _below(root: Path, path: Any) -> Any:
    """A path as Salt shows it; what is no path of the file system (`file:///dev/log`) is left alone."""
    if not isinstance(path, str) or "://" in path:
        return path
    return str(below_root(root, Path("/", path)))
