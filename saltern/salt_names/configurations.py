"""`salt.config`: the options of the controller and of the minion.

`/etc/salt/master` and other paths in that folder, which scripts have written in them, mean the configuration of
`SALTERN_CONFIG_DIR`, else of /etc/saltern. Other paths count as they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from saltern.client import opts

_SALTS = Path("/etc/salt")


def own_path(path: str | os.PathLike[str] | None) -> str:
    """The path of a configuration of Saltern that a script means; empty: the default."""
    if not path:
        return ""
    given = Path(path)
    return "" if _SALTS in (given, given.parent) else str(given)


def client_config(path: str = "", env_var: str = "SALT_CLIENT_CONFIG", **ignored: Any) -> dict[str, Any]:
    """See `saltern.client.client_config`; a path in the environment (`env_var`) stands before that of the call."""
    return opts.client_config(own_path(os.environ.get(env_var) or path))


def master_config(path: str = "", env_var: str = "SALT_MASTER_CONFIG", **ignored: Any) -> dict[str, Any]:
    """The same."""
    return client_config(path, env_var)


def minion_config(path: str = "", env_var: str = "SALT_MINION_CONFIG", **ignored: Any) -> dict[str, Any]:
    """See `saltern.client.minion_config`."""
    return opts.minion_config(own_path(os.environ.get(env_var) or path))
