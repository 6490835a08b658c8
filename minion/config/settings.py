"""The minion's configuration file, read once into a frozen `MinionSettings`.

Called by the agent's composition root and by `saltern call`. Option names are Salt's, so that a working minion file
can be pasted. It writes nothing except in `keep_id`. The types of the fields are the rules of the options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from highstate.near_names import did_you_mean
from highstate.options.document import Fault, Option
from highstate.options.kinds import Flag, Prepared, number_as_text, one_as_list
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


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, float) else number_as_text(value)


def _id(value: Any) -> Any:
    text = _text(value)
    if not isinstance(text, str) or not text or text in (".", "..") or len(text) > 255:
        raise ValueError
    if any(char in "/\\" or char.isspace() or ord(char) < 32 for char in text):
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


Text: TypeAlias = Annotated[str, Meta(description="text"), Prepared(_text)]
MinionId: TypeAlias = Annotated[
    str, Meta(description="a minion id: letters, digits, dots, dashes, without slashes and spaces"), Prepared(_id)
]
Hosts: TypeAlias = Annotated[
    tuple[str, ...], Meta(description="the name of a host, or a list of them"), Prepared(_hosts)
]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535, description="a port number from 1 to 65535"), Prepared(_port)]
AbsolutePath: TypeAlias = Annotated[Path, Meta(description="an absolute path"), Prepared(_path)]
OptionalPath: TypeAlias = Annotated[
    Path | None, Meta(description="an absolute path, or empty"), Prepared(_optional_path)
]
AnyMapping: TypeAlias = Annotated[Mapping[Any, Any], Meta(description="a mapping"), Prepared(_mapping)]
Roots: TypeAlias = Annotated[
    Mapping[str, tuple[str, ...]], Meta(description="a mapping of saltenvs to lists of folders"), Prepared(_roots)
]
Amount: TypeAlias = Annotated[float, Meta(ge=0, description="a number that is not negative")]
LogLevel: TypeAlias = Annotated[str, Meta(description="one of " + ", ".join(LOG_LEVELS)), Prepared(_level)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionSettings:
    """How this minion is set up. Paths are absolute, `root_dir` already in them."""

    id: MinionId
    config_dir: Path = DEFAULT_CONFIG_DIR
    master: Hosts = ()
    """Hosts of the controllers, in the order of preference (`controller` is the same key)."""
    master_port: Port = 4506
    publish_port: Port = 4505
    controller_key: Text = ""
    """Public CURVE key of the controller, as `saltern key controller` prints it."""
    root_dir: AbsolutePath = Path("/")
    pki_dir: AbsolutePath = Path("/etc/saltern/pki/minion")
    cachedir: AbsolutePath = Path("/var/cache/saltern/minion")
    grains: AnyMapping = field(default_factory=dict)
    """Static grains, of the file `grains` and of the option; they win over the collected ones."""
    file_roots: Roots = field(default_factory=dict)
    pillar_roots: Roots = field(default_factory=dict)
    file_client: Literal["remote", "local"] = "remote"
    log_level: LogLevel = "warning"
    log_file: OptionalPath = None
    log_level_logfile: LogLevel = ""
    """Of the file; empty: as `log_level`."""
    grains_refresh_every: Amount = 0.0
    """Minutes between collections of the grains; 0: at start only."""
    grains_cache: Flag = False
    """Whether `saltern call` takes the grains of the last collection."""
    grains_cache_expiration: Amount = 300.0
    """Seconds that such grains may be old."""
    state_output: Text = "full"
    failhard: Flag = False
    backup_mode: Text = ""
    state_events: Flag = True
    """Tell the controller how far runs are, about once a second."""
    stop_grace: Amount = 30.0
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
    faults: list[Fault] = []
    options = read_files(config_dir, faults)
    options |= {name: Option(value, COMMAND_LINE) for name, value in (overrides or {}).items()}
    return _build(config_dir, options, faults)


def keep_id(settings: MinionSettings) -> None:
    """Write the id to `config_dir/minion_id`, so that a later change of the hostname does not change who this is."""
    path = settings.config_dir / "minion_id"
    if path.exists() or not settings.config_dir.is_dir():
        return
    path.write_text(settings.id + "\n", encoding="utf-8")


def _build(config_dir: Path, options: Mapping[str, Option], faults: list[Fault]) -> MinionSettings:
    # Only where a configuration is read: an agent that is idle has its settings from a child.
    from highstate.options.convert import convert_options

    values = convert_options(options, own_options(), faults, ALIASES)
    if "id" not in values:
        values["id"] = _default_id(config_dir, faults)
    grains = _grains_of(config_dir, faults)
    if faults:
        raise BadMinionSettings("\n".join(str(fault) for fault in faults))
    root = values.setdefault("root_dir", Path("/"))
    values.setdefault("pki_dir", Path("/etc/saltern/pki/minion"))
    values.setdefault("cachedir", Path("/var/cache/saltern/minion"))
    for name in _PATHS:
        as_typed = name == "log_file" and name in options and options[name].place == COMMAND_LINE
        if values.get(name) is not None and not as_typed:
            values[name] = _under(root, values[name])
    values["grains"] = {**grains, **values.get("grains", {})}
    opts = {name: option.value for name, option in options.items()}
    opts |= {key: str(values[key]) for key in ("root_dir", *_PATHS) if opts.get(key) and values[key] is not None}
    return MinionSettings(config_dir=config_dir, opts=opts, warnings=_unknown(options), **values)


def own_options() -> dict[str, Any]:
    """Options that are fields of `MinionSettings` -> their types."""
    from highstate.options.convert import kinds_of

    return {name: kind for name, kind in kinds_of(MinionSettings).items() if name not in _NOT_OPTIONS}


def static_grains(config_dir: Path) -> dict[str, Any]:
    """Static grains in a file of their own, Salt's `grains` beside the configuration. Raises BadMinionSettings."""
    faults: list[Fault] = []
    grains = _grains_of(config_dir, faults)
    if faults:
        raise BadMinionSettings(str(faults[0]))
    return grains


def _grains_of(config_dir: Path, faults: list[Fault]) -> dict[str, Any]:
    path = config_dir / "grains"
    return {name: grain.value for name, grain in parse_file(path, faults).items()} if path.is_file() else {}


def _default_id(config_dir: Path, faults: list[Fault]) -> str:
    kept = config_dir / "minion_id"
    try:
        name = kept.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        name, kept = os.uname().nodename, Path("the name of this host")
    except (OSError, UnicodeDecodeError) as error:
        faults.append(Fault(str(kept), f"cannot be read: {error}"))
        return ""
    try:
        return str(_id(name))
    except ValueError:
        faults.append(Fault(str(kept), f"{name!r} is no minion id: write one as `id` into the configuration"))
        return ""


def _under(root: Path, path: Path) -> Path:
    """A path below `root_dir`, unless it is there already (Salt's rule)."""
    if root == Path("/") or path.is_relative_to(root):
        return path
    return root / path.relative_to("/")


def _unknown(options: Mapping[str, Option]) -> tuple[str, ...]:
    known = {*own_options(), *ALIASES, *PASSED_ON}
    strange = {name: option.place for name, option in options.items() if name not in known}
    return tuple(
        f"{place}: unknown option {name}; {did_you_mean(name, known) or 'it stays readable by config.get'}"
        for name, place in strange.items()
    )


_NOT_OPTIONS = frozenset(("config_dir", "opts", "warnings"))
_PATHS = ("pki_dir", "cachedir", "log_file")
ALIASES = {"controller": "master", "ret_port": "master_port"}
"""Other names of options."""
