"""The configuration in Salt's shape: `config.get`, `opts` of templates and `__opts__` of extension modules read it.

This is the only place that makes it. The minion's own code reads `MinionSettings` and its groups instead.
"""

from __future__ import annotations

from typing import Any

from minion.config.settings import PATHS, MinionSettings


def salt_opts(settings: MinionSettings, file_client: str = "") -> dict[str, Any]:
    """The options as the files say them, by their names; paths have `root_dir` in them.

    A call says with `file_client` where its files come from, and then sees the id of the minion, too.
    """
    paths = {name: getattr(settings, name) for name in ("root_dir", *PATHS) if settings.written.get(name)}
    opts = {**settings.written, **{name: str(path) for name, path in paths.items() if path is not None}}
    return opts | {"id": settings.id, "file_client": file_client} if file_client else opts
