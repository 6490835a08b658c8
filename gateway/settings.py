"""The configuration of a gateway, read once from `DIR/gateway`. Names of options are Salt's where a master has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from minion.config.connecting import (
    check_hosts,
    host_and_port,
    id_of_host,
    key_of,
    read_options,
    relay_key_of,
    unknown_options,
)
from minion.config.files import BadMinionSettings
from minion.config.names import LogFormat
from minion.config.rules import (
    AbsolutePath,
    Amount,
    ControllerKeyTexts,
    Hosts,
    LogLevel,
    MetricsFile,
    MinionId,
    MinionText,
    OptionalPath,
    Port,
)
from options.kinds import Flag, Names, Wanted
from wire.address import Address

Interval: TypeAlias = Annotated[float, Wanted("a number of seconds from 1", ge=1)]
LOCK_FILE = "gateway.lock"
"""In `pki_dir` and `cachedir`: held by the gateway that uses them."""
CONTROLLER_FILE = "controller.json"
"""In `cachedir`: says which controller answers."""
THIS = "this"
"""What stands for this gateway in `gateways`."""

RULES: Mapping[str, Any] = {
    "id": MinionId,
    "controller": Hosts,
    "controller_key": ControllerKeyTexts,
    "relay_key": ControllerKeyTexts,
    "controller_port": Port,
    "controller_publish_port": Port,
    "master_alive_interval": Amount,
    "interface": MinionText,
    "publish_port": Port,
    "ret_port": Port,
    "pki_dir": AbsolutePath,
    "cachedir": AbsolutePath,
    "publish_session": Interval,
    "master_sign_pubkey": Flag,
    "master_sign_key_name": MinionText,
    "metrics_textfile": MetricsFile,
    "shadow": Flag,
    "gateways": Names,
    "log_level": LogLevel,
    "log_file": OptionalPath,
    "log_format": LogFormat,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """How this gateway is set up."""

    id: str = ""
    """The gateway's own, under which the controller knows its key; without it `gateway-` and the name of its host."""
    controller: tuple[str, ...] = ()
    """Host of the controller, or `HOST:PORT`; or a list of controllers that share a database, or of relays before the
    controller: one at a time is used, the next one when it is gone."""
    controller_key: Mapping[str, str] = field(default_factory=dict)
    """The controller's public CURVE key, as `saltern key controller` prints it: all of the list have it."""
    relay_key: Mapping[str, str] = field(default_factory=dict)
    """Where `controller` is a relay: the relay's public key, as `saltern relay --key` prints it; for several a mapping
    of what `controller` has to keys."""
    controller_port: int = 4506
    controller_publish_port: int = 4505
    master_alive_interval: float = 0.0
    """Seconds between two signs of life that the controller is asked for; one that is silent for twice as long is gone.
    0: it is gone after 60 s."""
    interface: str = "0.0.0.0"  # noqa: S104 - as a master: minions come from anywhere, and show their keys
    publish_port: int = 4505
    ret_port: int = 4506
    """Where stock minions connect: what they have as `publish_port` and `master_port`."""
    pki_dir: Path = Path("/etc/saltern/pki/gateway")
    """Of `master.pem`, by which minions know the gateway, and of their own keys."""
    cachedir: Path = Path("/var/cache/saltern/gateway")
    publish_session: float = 86_400.0
    """Seconds until the key of publications, and the session keys of minions, change."""
    master_sign_pubkey: bool = False
    """Whether the gateway shows minions its key signed by another one, by which they know it when its key changes.
    Minions need `verify_master_pubkey_sign` then, and those without it do not come in, as with a master."""
    master_sign_key_name: str = "master_sign"
    """Name of that other key in `pki_dir`: `master_sign.pem`, and `master_sign.pub` for the minions."""
    metrics_textfile: Path | None = None
    """A file for the textfile collector of node_exporter, that has the metrics of the gateway."""
    shadow: bool = False
    """Whether a minion may only be looked at as long as the controller has not said whether it is in shadow."""
    gateways: tuple[str, ...] = ()
    """All gateways of a fleet, `HOST` or `HOST:RET_PORT`, in the order in which they speak for minions; `this` stands
    for this one. They share `master.pem`. Without it this one is alone."""
    log_level: str = "info"
    log_file: Path | None = None
    log_format: str = "logfmt"
    warnings: tuple[str, ...] = ()
    """About options that are not known."""


def load_gateway_settings(config_dir: Path) -> GatewaySettings:
    """What `DIR/gateway` says. Raises BadMinionSettings."""
    path = config_dir / "gateway"
    values, options = read_options(path, RULES, {})
    if "id" not in values:
        values["id"] = id_of_host(path, "gateway-")
    return GatewaySettings(**values, warnings=tuple(unknown_options(path, options, list(RULES))))


def controllers_of(settings: GatewaySettings, config_dir: Path) -> Mapping[str, Address]:
    """Where each controller of the list is, in its order. Raises BadMinionSettings where that is not said."""
    file = config_dir / "gateway"
    if not settings.controller or not settings.controller_key:
        missing = "" if file.is_file() else "there is no such file: "
        raise BadMinionSettings(
            f"{file}: {missing}`controller` (its host) and `controller_key` "
            "(what `saltern key controller` prints there) are needed"
        )
    check_hosts(settings.controller_key, settings.controller, file, "controller_key", "controller")
    check_hosts(settings.relay_key, settings.controller, file, "relay_key", "controller")
    found = {name: _address(settings, name, file) for name in settings.controller}
    if len({each.controller_key for each in found.values()}) > 1:
        raise BadMinionSettings(
            f"{file}: controller_key: the controllers of a gateway have one key, since they share a database; "
            "controllers that know nothing of each other have a gateway each"
        )
    return found


def _address(settings: GatewaySettings, name: str, file: Path) -> Address:
    key = key_of(settings.controller_key, name, file, "controller_key")
    if not key:
        raise BadMinionSettings(f"{file}: controller_key: {name} has none")
    host, port = host_and_port(name, settings.controller_port, file, "controller")
    return Address(
        host=host,
        publish_port=settings.controller_publish_port,
        request_port=port,
        controller_key=key,
        relay_key=relay_key_of(settings.relay_key, name, file),
    )


def gateways_before(settings: GatewaySettings) -> Sequence[tuple[str, int]]:
    """Host and port of those that come before this one. Raises BadMinionSettings."""
    if settings.gateways and settings.gateways.count(THIS) != 1:
        raise BadMinionSettings(f"gateways: {', '.join(settings.gateways)}: `{THIS}` has to stand in it once")
    places = []
    for name in settings.gateways[: settings.gateways.index(THIS)] if settings.gateways else ():
        host, _, port = name.rpartition(":") if name.count(":") == 1 or "]:" in name else (name, "", "")
        if port and not (port.isdecimal() and 0 < int(port) < 65_536):
            raise BadMinionSettings(f"gateways: {name}: no port")
        places.append((host.strip("[]"), int(port or 4506)))
    return places
