"""How the options of a minion are read: a type for each, whose annotations are its rule.

Called by `minion.config.settings` when there are options to read, as it loads msgspec.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from highstate.options.kinds import Flag, Prepare, number_as_text, one_as_list
from minion.config.names import LOG_LEVELS, is_minion_id


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, float) else number_as_text(value)


def _id(value: Any) -> Any:
    text = _text(value)
    if not isinstance(text, str) or not is_minion_id(text):
        raise ValueError
    return text


def _hosts(value: Any) -> Any:
    hosts = [_text(host) for host in (value if isinstance(value, list) else [value])]
    if not all(hosts):
        raise ValueError
    return hosts


def _port(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _path(value: Any) -> Any:
    path = Path(value).expanduser() if isinstance(value, str) else None
    if path is None or not path.is_absolute():
        raise ValueError
    return path


def _optional_path(value: Any) -> Any:
    return None if value in (None, "") else _path(value)


def _mapping(value: Any) -> Any:
    return {} if value is None else value


def _roots(value: Any) -> Any:
    roots = {}
    if value is not None and not isinstance(value, dict):
        raise ValueError
    for env, folders in (value or {}).items():
        listed = one_as_list(folders)
        if not isinstance(listed, list) or not all(isinstance(folder, str) and folder for folder in listed):
            raise ValueError(f"a mapping of saltenvs to lists of folders (of {env} it is none)")
        roots[str(env)] = [os.path.expanduser(folder) for folder in listed]  # noqa: PTH111
    return roots


def _level(value: Any) -> Any:
    if value not in LOG_LEVELS:
        raise ValueError
    return value


MinionText: TypeAlias = Annotated[str, Meta(description="text"), Prepare(_text)]
MinionId: TypeAlias = Annotated[
    str, Meta(description="a minion id (letters, digits, dots, dashes; no slashes, no spaces)"), Prepare(_id)
]
Hosts: TypeAlias = Annotated[
    tuple[str, ...], Meta(description="the name of a host, or a list of them"), Prepare(_hosts)
]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535, description="a port number from 1 to 65535"), Prepare(_port)]
AbsolutePath: TypeAlias = Annotated[Path, Meta(description="an absolute path"), Prepare(_path)]
OptionalPath: TypeAlias = Annotated[
    Path | None, Meta(description="an absolute path, or empty"), Prepare(_optional_path)
]
AnyMapping: TypeAlias = Annotated[Mapping[Any, Any], Meta(description="a mapping"), Prepare(_mapping)]
Roots: TypeAlias = Annotated[
    Mapping[str, tuple[str, ...]], Meta(description="a mapping of saltenvs to lists of folders"), Prepare(_roots)
]
Amount: TypeAlias = Annotated[float, Meta(ge=0, description="a number that is not negative")]
LogLevel: TypeAlias = Annotated[str, Meta(description="one of " + ", ".join(LOG_LEVELS)), Prepare(_level)]

RULES: Mapping[str, Any] = {
    "id": MinionId,
    "master": Hosts,
    "master_port": Port,
    "publish_port": Port,
    "controller_key": MinionText,
    "root_dir": AbsolutePath,
    "pki_dir": AbsolutePath,
    "cachedir": AbsolutePath,
    "grains": AnyMapping,
    "file_roots": Roots,
    "pillar_roots": Roots,
    "file_client": Literal["remote", "local"],
    "log_level": LogLevel,
    "log_file": OptionalPath,
    "log_level_logfile": LogLevel,
    "grains_refresh_every": Amount,
    "grains_cache": Flag,
    "grains_cache_expiration": Amount,
    "state_output": MinionText,
    "failhard": Flag,
    "backup_mode": MinionText,
    "state_events": Flag,
    "stop_grace": Amount,
}
"""Fields of `MinionSettings` that options set -> their types."""

ALIASES = {"controller": "master", "ret_port": "master_port"}
"""Other names of options."""
