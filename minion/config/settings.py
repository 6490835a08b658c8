"""The minion's configuration file, read once into a frozen `MinionSettings`.

Called by the agent's composition root and by `saltern call`. Option names are Salt's, so that a working minion file
can be pasted. It writes nothing except in `keep_id`, and imports YAML only when there is a file to read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minion.config.files import BadMinionSettings, parse_file, read_files

COMMAND_LINE = "command line"
"""Where an option comes from that is in no file."""

DEFAULT_CONFIG_DIR = Path("/etc/saltern")

LOG_LEVELS = ("all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet")
"""Salt's names."""

PASSED_ON = (
    "pillarenv",
    "saltenv",
    "state_queue",
    "state_top",
    "top_file_merging_strategy",
    "env_order",
    "default_top",
    "state_auto_order",
    "pillar_source_merging_strategy",
    "pillar_merge_lists",
    "ext_pillar",
    "ext_pillar_first",
    "master_tops",
    "master_tops_first",
    "nodegroups",
    "jinja_env",
    "jinja_sls_env",
    "beacons",
    "schedule",
    "mine_functions",
    "mine_enabled",
    "mine_interval",
    "rawfile_json.filename",
    "return",
    "environment",
    "test",
    "resources",
    "enable_fqdns_grains",
    "enable_gpu_grains",
    "enable_lspci",
    "grains_blacklist",
    "grains_deep_merge",
    "metadata_server_grains",
    "default_include",
    "include",
    "state_verbose",
    "state_output_profile",
    "state_output_diff",
    "state_output_pct",
    "state_output_exclude",
    "state_output_terse",
    "state_tabular",
    "state_compress_ids",
    "module_dirs",
    "beacons_dirs",
    "grains_dirs",
    "returner_dirs",
    "states_dirs",
    "utils_dirs",
)
"""Keys that are no field of `MinionSettings`; templates, grains and the compile read them from its `opts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionSettings:
    """How this minion is set up. Paths are absolute, `root_dir` already in them."""

    id: str
    config_dir: Path = DEFAULT_CONFIG_DIR
    master: tuple[str, ...] = ()
    """Hosts of the controllers, in the order of preference (`controller` is the same key)."""
    master_port: int = 4506
    publish_port: int = 4505
    controller_key: str = ""
    """Public CURVE key of the controller, as `saltern key controller` prints it."""
    root_dir: Path = Path("/")
    pki_dir: Path = Path("/etc/saltern/pki/minion")
    cachedir: Path = Path("/var/cache/saltern/minion")
    grains: Mapping[str, Any] = field(default_factory=dict)
    """Static grains, of the file `grains` and of the option; they win over the collected ones."""
    file_roots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pillar_roots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    file_client: str = "remote"
    log_level: str = "warning"
    log_file: Path | None = None
    log_level_logfile: str = ""
    """Of the file; empty: as `log_level`."""
    grains_refresh_every: float = 0.0
    """Minutes between collections of the grains; 0: at start only."""
    grains_cache: bool = False
    """Whether `saltern call` takes the grains of the last collection."""
    grains_cache_expiration: float = 300.0
    """Seconds that such grains may be old."""
    state_output: str = "full"
    failhard: bool = False
    backup_mode: str = ""
    state_events: bool = True
    """Tell the controller how far runs are, about once a second."""
    stop_grace: float = 30.0
    """Seconds that states have to end by themselves when the run is stopped."""
    opts: Mapping[str, Any] = field(default_factory=dict)
    """Everything that the files say, for `config.get` and for `opts` in templates."""
    warnings: tuple[str, ...] = ()
    """About keys that nobody reads; whoever loads the settings logs them."""


def load_settings(config_dir: Path = DEFAULT_CONFIG_DIR, overrides: Mapping[str, Any] | None = None) -> MinionSettings:
    """What the files of `config_dir` say (`minion.config.files`); a folder without files gives the defaults.

    `overrides` has the same keys and wins (command line options). Raises BadMinionSettings.
    """
    config_dir = Path(os.path.abspath(config_dir))  # noqa: PTH100  (resolve() would follow symlinks)
    opts, origin = read_files(config_dir)
    for key, value in (overrides or {}).items():
        opts[key] = value
        origin[key] = COMMAND_LINE
    return _build(config_dir, opts, origin)


def keep_id(settings: MinionSettings) -> None:
    """Write the id to `config_dir/minion_id`, so that a later change of the hostname does not change who this is."""
    path = settings.config_dir / "minion_id"
    if path.exists() or not settings.config_dir.is_dir():
        return
    path.write_text(settings.id + "\n", encoding="utf-8")


def _build(config_dir: Path, opts: dict[str, Any], origin: Mapping[str, str]) -> MinionSettings:
    values: dict[str, Any] = {}
    for key, value in opts.items():
        name = _ALIASES.get(key, key)
        reader = _READERS.get(name)
        if reader is None:
            continue
        try:
            values[name] = reader(value)
        except (TypeError, ValueError) as error:
            raise BadMinionSettings(f"{origin[key]}: {key}: {error}") from None
    root = values.setdefault("root_dir", Path("/"))
    values.setdefault("pki_dir", Path("/etc/saltern/pki/minion"))
    values.setdefault("cachedir", Path("/var/cache/saltern/minion"))
    for name in _PATHS:
        as_typed = name == "log_file" and origin.get(name) == COMMAND_LINE
        if values.get(name) is not None and not as_typed:
            values[name] = _under(root, values[name])
    if "id" not in values:
        values["id"] = _default_id(config_dir)
    values["grains"] = {**static_grains(config_dir), **values.get("grains", {})}
    opts |= {key: str(values[key]) for key in ("root_dir", *_PATHS) if opts.get(key) and values[key] is not None}
    return MinionSettings(config_dir=config_dir, opts=opts, warnings=_unknown(opts, origin), **values)


def static_grains(config_dir: Path) -> dict[str, Any]:
    """Static grains in a file of their own, Salt's `grains` beside the configuration."""
    path = config_dir / "grains"
    return parse_file(path) if path.is_file() else {}


def _default_id(config_dir: Path) -> str:
    kept = config_dir / "minion_id"
    try:
        return _id(kept.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        return _id(os.uname().nodename)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BadMinionSettings(f"{kept}: {error}") from None


def _under(root: Path, path: Path) -> Path:
    """A path below `root_dir`, unless it is there already (Salt's rule)."""
    if root == Path("/") or path.is_relative_to(root):
        return path
    return root / path.relative_to("/")


def _unknown(opts: Mapping[str, Any], origin: Mapping[str, str]) -> tuple[str, ...]:
    known = {*_READERS, *_ALIASES, *PASSED_ON}
    strange = [key for key in opts if key not in known]
    if not strange:
        return ()
    import difflib

    warnings = []
    for key in strange:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else " (it stays readable by config.get)"
        warnings.append(f"{origin[key]}: unknown option {key}{hint}")
    return tuple(warnings)


# --- one reader a kind of value: gives the value, or raises ValueError saying what is wanted ------------------------


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be text, not {value!r}")
    return str(value)


def _id(value: Any) -> str:
    text = _text(value)
    if (
        not text
        or text in (".", "..")
        or len(text) > 255
        or any(c in "/\\" or c.isspace() or ord(c) < 32 for c in text)
    ):
        raise ValueError(f"{text!r} is no minion id: letters, digits, dots, dashes, without slashes and spaces")
    return text


def _hosts(value: Any) -> tuple[str, ...]:
    hosts = tuple(_text(host) for host in (value if isinstance(value, list) else [value]))
    if not all(hosts):
        raise ValueError("a host name is empty")
    return hosts


def _port(value: Any) -> int:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 65536:
        raise ValueError(f"must be a port number from 1 to 65535, not {value!r}")
    return value


def _path(value: Any) -> Path:
    path = Path(_text(value)).expanduser()
    if not path.is_absolute():
        raise ValueError(f"must be an absolute path, not {value!r}")
    return path


def _log_file(value: Any) -> Path | None:
    return None if value in (None, "") else _path(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"must be a mapping, not {value!r}")
    return value


def _roots(value: Any) -> Mapping[str, tuple[str, ...]]:
    roots = {}
    for env, folders in _mapping(value).items():
        listed = folders if isinstance(folders, list) else [folders]
        if not all(isinstance(folder, str) and folder for folder in listed):
            raise ValueError(f"{env}: must be a list of folders, not {folders!r}")
        roots[str(env)] = tuple(os.path.expanduser(folder) for folder in listed)  # noqa: PTH111
    return roots


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"must be a number that is not negative, not {value!r}")
    return float(value)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be True or False, not {value!r}")
    return value


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}; not {value!r}")
        return str(value)

    return read


_PATHS = ("pki_dir", "cachedir", "log_file")
_ALIASES = {"controller": "master", "ret_port": "master_port"}
_READERS: dict[str, Callable[[Any], Any]] = {
    "id": _id,
    "master": _hosts,
    "master_port": _port,
    "publish_port": _port,
    "controller_key": _text,
    "root_dir": _path,
    "pki_dir": _path,
    "cachedir": _path,
    "grains": _mapping,
    "file_roots": _roots,
    "pillar_roots": _roots,
    "file_client": _one_of("remote", "local"),
    "log_level": _one_of(*LOG_LEVELS),
    "log_file": _log_file,
    "log_level_logfile": _one_of(*LOG_LEVELS),
    "grains_refresh_every": _seconds,
    "grains_cache": _bool,
    "grains_cache_expiration": _seconds,
    "state_output": _text,
    "failhard": _bool,
    "backup_mode": _text,
    "state_events": _bool,
    "stop_grace": _seconds,
}
