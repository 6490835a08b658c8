"""The minion's configuration file, read once into a frozen `MinionSettings`.

Called by the agent's composition root and by `saltern call`. Option names are Salt's, so that a working minion file
can be pasted. It writes nothing except in `keep_id`. `minion.config.rules` says how options are read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minion.config.files import BadMinionSettings, parse_file, read_files
from minion.config.groups import DEFAULT_OPTIONS, MinionOptions
from minion.config.names import is_minion_id
from options.document import Fault, Option, UnreadableDocument, read_config_text

COMMAND_LINE = "command line"
"""Where an option comes from that is in no file."""

DEFAULT_CONFIG_DIR = Path("/etc/saltern")

PATHS = ("pki_dir", "cachedir", "log_file", "metrics_textfile")
"""Options that `root_dir` is put before."""

_NO_OPTIONS: Mapping[Any, Any] = {}


class MinionSettings(NamedTuple):
    """How this minion is set up. Paths are absolute, `root_dir` already in them."""

    id: str
    config_dir: Path = DEFAULT_CONFIG_DIR
    master: tuple[str, ...] = ()
    """Hosts of the controllers, in the order of preference (`controller` is the same key)."""
    master_port: int = 4506
    publish_port: int = 4505
    controller_key: Mapping[str, str] = _NO_OPTIONS
    """Public CURVE keys, as `saltern key controller` prints them, by the addresses in `master`; "": of all others."""
    relay_key: Mapping[str, str] = _NO_OPTIONS
    """Public CURVE keys, as `saltern relay --key` prints them, of those in `master` that are relays; "": of all."""
    master_type: str = "str"
    """str: connected to all of the list at once; failover: to one at a time; distributed: likewise, and the id says
    with which the minion begins; disable: to none."""
    master_alive_interval: float = 0.0
    """Seconds between the signs of life that a controller is asked for; 0: those of every connection."""
    master_failback: bool = False
    """Whether the minion goes back to the first of the list when that can be reached again."""
    master_failback_interval: float = 0.0
    """Seconds between two tries of that; 0: `master_alive_interval`."""
    master_shuffle: bool = False
    """Whether the list is put into an order by chance at each start."""
    master_tries: int = -1
    """Rounds through the list without a connection after which the agent ends; -1: never."""
    retry_dns: float = 30.0
    """Seconds between two looks for the address of a controller whose name has none; 0: the agent ends."""
    retry_dns_count: int | None = None
    """Looks after which the agent ends."""
    enrolment_token: str = ""
    """By which the controller accepts the key of this minion."""
    enrolment_token_file: Path | None = None
    """A file that has it."""
    autosign_grains: tuple[str, ...] = ()
    """Names of grains that are told with the key, by which the controller may accept it."""
    start_event_grains: tuple[str, ...] = ()
    """Names of the grains that the event of the minion's start has."""
    root_dir: Path = Path("/")
    pki_dir: Path = Path("/etc/saltern/pki/minion")
    cachedir: Path = Path("/var/cache/saltern/minion")
    grains: Mapping[Any, Any] = _NO_OPTIONS
    """Static grains, of the file `grains` and of the option; they win over the collected ones."""
    file_roots: Mapping[str, tuple[str, ...]] = _NO_OPTIONS
    pillar_roots: Mapping[str, tuple[str, ...]] = _NO_OPTIONS
    file_client: str = "remote"
    log_level: str = "warning"
    log_file: Path | None = None
    log_level_logfile: str = ""
    """Of the file; empty: as `log_level`."""
    log_format: str = "logfmt"
    grains_refresh_every: float = 0.0
    """Minutes between collections of the grains; 0: at start only."""
    grains_cache: bool = False
    """Whether `saltern call` takes the grains of the last collection."""
    grains_cache_expiration: float = 300.0
    """Seconds that such grains may be old."""
    state_output: str = "full"
    failhard: bool = False
    backup_mode: str = ""
    state_events: bool | None = None
    """False: the controller is not told how far runs are, as it is otherwise, about once a second; True: besides, each
    state's result is an event, as in Salt."""
    metrics_textfile: Path | None = None
    """A file for the textfile collector of node_exporter, that has the metrics of the minion."""
    stop_grace: float = 30.0
    """Seconds that states have to end by themselves when the run is stopped."""
    options: MinionOptions = DEFAULT_OPTIONS
    """All other options that the minion reads."""
    written: Mapping[str, Any] = _NO_OPTIONS
    """Everything that the files say, as they say it: `minion.config.salt_opts` shows it to Salt's users."""
    warnings: tuple[str, ...] = ()
    """About keys that nothing reads; the caller of `load_settings` logs them."""


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
    values: dict[str, Any] = {}
    if options:  # rules take 1 % of the start of `saltern call`
        from minion.config.rules import read_settings

        values = read_settings(options, faults)
    if "id" not in values:
        values["id"] = _default_id(config_dir, faults)
    grains = _grains_of(config_dir, faults)
    if faults:
        raise BadMinionSettings("\n".join(str(fault) for fault in faults))
    root = values.setdefault("root_dir", Path("/"))
    values.setdefault("pki_dir", Path("/etc/saltern/pki/minion"))
    values.setdefault("cachedir", Path("/var/cache/saltern/minion"))
    for name in PATHS:
        as_typed = name == "log_file" and name in options and options[name].place == COMMAND_LINE
        if values.get(name) is not None and not as_typed:
            values[name] = below_root(root, values[name])
    values["grains"] = {**grains, **values.get("grains", {})}
    written = {name: option.value for name, option in options.items()}
    return MinionSettings(config_dir=config_dir, written=written, warnings=_unknown(options), **values)


def static_grains(config_dir: Path) -> dict[str, Any]:
    """Static grains in a file of their own, Salt's `grains` beside the configuration. Raises BadMinionSettings."""
    faults: list[Fault] = []
    grains = _grains_of(config_dir, faults)
    if faults:
        raise BadMinionSettings(str(faults[0]))
    return grains


def _grains_of(config_dir: Path, faults: list[Fault]) -> dict[str, Any]:
    path = config_dir / "grains"
    return {name: grain.value for name, grain in parse_file(path, faults).items()} if path.exists() else {}


def _default_id(config_dir: Path, faults: list[Fault]) -> str:
    kept = config_dir / "minion_id"
    try:
        if kept.exists():
            name = read_config_text(kept).strip()
        else:
            name, kept = os.uname().nodename, Path("the name of this host")
    except UnreadableDocument as error:
        faults.append(error.fault)
        return ""
    if is_minion_id(name):
        return name
    faults.append(Fault(str(kept), f"{name!r} is no minion id: write one as `id` into the configuration"))
    return ""


def below_root(root: Path, path: Path) -> Path:
    """An absolute path below `root_dir`, unless it is there already (Salt's rule)."""
    if root == Path("/") or path.is_relative_to(root):
        return path
    return root / path.relative_to("/")


def _unknown(options: Mapping[str, Option]) -> tuple[str, ...]:
    if not options:
        return ()
    from minion.config.rules import KNOWN, is_known

    strange = {name: option for name, option in options.items() if not is_known(name)}
    if not strange:
        return ()
    from minion.config.salt_options import asks_for_nothing, said_of, salt_option

    warnings = []
    for name, option in strange.items():
        known_of_salt = salt_option(name)
        if known_of_salt is not None and known_of_salt.lacking and asks_for_nothing(name, option.value):
            continue
        what = name if known_of_salt is not None else f"unknown option {name}"
        warnings.append(f"{option.place}: {what}: {said_of(name, KNOWN) or 'it stays readable by config.get'}")
    return tuple(warnings)
