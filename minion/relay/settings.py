"""The configuration of a relay, read once from `DIR/relay`. Names of options are Salt's where Salt's syndic has them.

Called by `minion.relay.process`. An option of a syndic that means nothing here is told, with what takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minion.config.files import BadMinionSettings, parse_file
from minion.config.names import LogFormat, is_minion_id
from minion.config.rules import AbsolutePath, LogLevel, MinionId, MinionText, OptionalPath, Port
from options.convert import convert_options
from options.document import Fault
from options.near_names import did_you_mean
from wire.address import Address
from wire.errors import BadKey
from wire.keys import check_public_key

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
    faults: list[Fault] = []
    path = config_dir / "relay"
    options = parse_file(path, faults) if path.is_file() else {}
    values = convert_options(options, RULES, faults, ALIASES)
    if faults:
        raise BadMinionSettings("\n".join(str(fault) for fault in faults))
    if "id" not in values:
        values["id"] = _host_id(path)
    warnings = tuple(_warnings(path, options))
    return RelaySettings(**values, warnings=warnings)


def controller_of(settings: RelaySettings, config_dir: Path) -> Address:
    """Where the controller is. Raises BadMinionSettings where that is not said."""
    file = config_dir / "relay"
    if not settings.syndic_master or not settings.controller_key:
        raise BadMinionSettings(
            f"{file}: `syndic_master` (the controller's host) and `controller_key` "
            "(what `saltern key controller` prints there) are needed"
        )
    try:
        check_public_key(settings.controller_key)
    except BadKey as error:
        raise BadMinionSettings(f"{file}: controller_key: {error}") from error
    host, colon, port = settings.syndic_master.rpartition(":")
    if colon and (":" not in host or host.endswith("]")):
        if not port.isdigit() or not 0 < int(port) < 65536:
            raise BadMinionSettings(
                f"{file}: syndic_master: {settings.syndic_master} is no host, and no host with a port"
            )
        return Address(host=host.strip("[]"), request_port=int(port), controller_key=settings.controller_key)
    return Address(
        host=settings.syndic_master.strip("[]"),
        request_port=settings.syndic_master_port,
        controller_key=settings.controller_key,
    )


def _host_id(path: Path) -> str:
    name = os.uname().nodename
    if not is_minion_id(name):
        raise BadMinionSettings(f"{path}: the name of this host, {name!r}, is no id: write one as `id`")
    return name


def _warnings(path: Path, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        if name in MEANINGLESS:
            yield f"{path}: {name} changes nothing: {MEANINGLESS[name]}"
        elif name not in RULES and name not in ALIASES:
            yield f"{path}: unknown option {name}{did_you_mean(name, [*RULES, *ALIASES])}"
