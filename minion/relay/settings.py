"""The configuration of a relay, read once from `DIR/relay`. Names of options are Salt's where Salt's syndic has them.

Called by `minion.relay.process`. An option of a syndic that means nothing here is told, with what takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minion.config.connecting import host_and_port, id_of_host, key_of, read_options, unknown_options
from minion.config.files import BadMinionSettings
from minion.config.names import LogFormat
from minion.config.rules import AbsolutePath, LogLevel, MinionId, MinionText, OptionalPath, Port
from wire.address import Address

RULES: Mapping[str, Any] = {
    "id": MinionId,
    "syndic_master": MinionText,
    "syndic_master_port": Port,
    "controller_key": MinionText,
    "interface": MinionText,
    "ret_port": Port,
    "pki_dir": AbsolutePath,
    "log_level": LogLevel,
    "log_file": OptionalPath,
    "log_format": LogFormat,
}
ALIASES: Mapping[str, str] = {"syndic_log_file": "log_file", "master": "syndic_master"}

MEANINGLESS: Mapping[str, str] = {
    "order_masters": "a relay needs no order: the controller knows of each minion which relay it is behind",
    "publish_port": "a relay has one port, `ret_port`: what a controller publishes says nothing to minions behind one",
    "syndic_dir": "a relay keeps nothing on disk but its key",
    "syndic_event_forward_timeout": "what minions send goes on at once, several of them in one message",
    "syndic_failover": "a relay has one controller; minions have a list of relays in `master`",
    "syndic_finger": "`controller_key` is the controller's key itself",
    "syndic_forward_all_events": "all that minions send goes to the controller, and a relay has no events of its own",
    "syndic_jid_forward_cache_hwm": "a relay keeps no results: minions do until the controller has them",
    "syndic_pidfile": "the unit of systemd knows the process",
    "syndic_retries": "a relay connects again by itself",
    "syndic_user": "the unit of systemd says which user it runs as",
    "syndic_wait": "the controller knows which minions are behind a relay, and waits for none that is not targeted",
}
"""Options of Salt's syndic -> why they change nothing."""


class RelaySettings(NamedTuple):
    """How this relay is set up."""

    id: str
    syndic_master: str = ""
    """Host of the controller, or host:port."""
    syndic_master_port: int = 4506
    controller_key: str = ""
    """The controller's public CURVE key, as `saltern key controller` prints it."""
    interface: str = "0.0.0.0"  # noqa: S104 - as a controller: minions come from anywhere, and show their keys
    ret_port: int = 4506
    """Where minions connect."""
    pki_dir: Path = Path("/etc/saltern/pki/relay")
    log_level: str = "info"
    log_file: Path | None = None
    log_format: str = "logfmt"
    warnings: tuple[str, ...] = ()
    """About options that change nothing."""


def load_relay_settings(config_dir: Path) -> RelaySettings:
    """What `DIR/relay` says. Raises BadMinionSettings."""
    path = config_dir / "relay"
    values, options = read_options(path, RULES, ALIASES)
    if "id" not in values:
        values["id"] = id_of_host(path)
    return RelaySettings(**values, warnings=tuple(_warnings(path, options)))


def controller_of(settings: RelaySettings, config_dir: Path) -> Address:
    """Where the controller is. Raises BadMinionSettings where that is not said."""
    file = config_dir / "relay"
    if not settings.syndic_master or not settings.controller_key:
        raise BadMinionSettings(
            f"{file}: `syndic_master` (the controller's host) and `controller_key` "
            "(what `saltern key controller` prints there) are needed"
        )
    host, port = host_and_port(settings.syndic_master, settings.syndic_master_port, file, "syndic_master")
    key = key_of({"": settings.controller_key}, "", file, "controller_key")
    return Address(host=host, request_port=port, controller_key=key)


def _warnings(path: Path, names: Iterable[str]) -> Iterable[str]:
    yield from unknown_options(path, [name for name in names if name not in MEANINGLESS], [*RULES, *ALIASES])
    for name in names:
        if name in MEANINGLESS:
            yield f"{path}: {name} changes nothing: {MEANINGLESS[name]}"
