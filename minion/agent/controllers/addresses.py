"""The controllers that the configuration names: where each is, its key, and where the minion keeps what is about it.

Called by the composition root of the agent. Opens nothing.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings
from minion.spool.journal import folder_name
from wire.address import Address
from wire.errors import BadKey
from wire.keys import check_public_key


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownController:
    """A controller as the configuration has it."""

    name: str
    """As `master` has it."""
    address: Address
    folder: Path
    """Of the keys that only this controller knows or has: the `pki_dir` itself where there is one controller."""


def known_controllers(settings: MinionSettings) -> tuple[KnownController, ...]:
    """All of them, in the order of `master`; none with `master_type: disable`. Raises BadMinionSettings."""
    if settings.master_type == "disable":
        return ()
    file = f"{settings.config_dir}/minion"
    if not settings.master or not settings.controller_key:
        raise BadMinionSettings(
            f"{file}: `master` (the controller's host) and `controller_key` "
            "(what `saltern key controller` prints there) are needed; the line that `saltern init` prints there, "
            "`saltern minion join ...`, writes both"
        )
    _check_names(settings, file)
    known = tuple(_known(settings, name, file) for name in settings.master)
    _check_ways(settings, known, file)
    return known


def _known(settings: MinionSettings, name: str, file: str) -> KnownController:
    key = settings.controller_key.get(name) or settings.controller_key.get("")
    if not key:
        raise BadMinionSettings(
            f"{file}: controller_key: {name} has none: write what `saltern key controller` prints there as "
            f"`controller_key: {{{name}: KEY}}`"
        )
    try:
        check_public_key(key)
    except BadKey as error:
        raise BadMinionSettings(f"{file}: controller_key: {error}") from error
    host, port = _split(name, settings.master_port, file)
    address = Address(
        host=host,
        publish_port=settings.publish_port,
        request_port=port,
        controller_key=key,
        relay_key=_relay_key(settings, name, file),
    )
    own = settings.pki_dir / "controllers" / folder_name(name)
    folder = own if len(settings.master) > 1 or own.exists() else settings.pki_dir
    return KnownController(name=name, address=address, folder=folder)


def _relay_key(settings: MinionSettings, name: str, file: str) -> str:
    """The key of the relay at this address; empty where the controller itself listens there."""
    key = settings.relay_key.get(name) or settings.relay_key.get("") or ""
    try:
        if key:
            check_public_key(key)
    except BadKey as error:
        raise BadMinionSettings(f"{file}: relay_key: {error}") from error
    if key and importlib.util.find_spec("cryptography") is None:
        raise BadMinionSettings(
            f"{file}: relay_key: sessions through a relay need cryptography: pip install 'saltern[cryptography]'"
        )
    return key


def _check_names(settings: MinionSettings, file: str) -> None:
    for option, named in (("controller_key", settings.controller_key), ("relay_key", settings.relay_key)):
        strange = named.keys() - {*settings.master, ""}
        if strange:
            raise BadMinionSettings(f"{file}: {option}: {', '.join(sorted(strange))} is not in `master`")


def _check_ways(settings: MinionSettings, known: tuple[KnownController, ...], file: str) -> None:
    """Connected to all at once, a minion has one way to each controller: a second one would end the first."""
    keys = [each.address.controller_key for each in known if each.address.relay_key]
    if settings.master_type == "str" and any(
        sum(each.address.controller_key == key for each in known) > 1 for key in keys
    ):
        raise BadMinionSettings(
            f"{file}: `master` has several ways to one controller by relays: write `master_type: failover`"
        )


def _split(name: str, port: int, file: str) -> tuple[str, int]:
    """Host and port of `host`, `host:port`, an IPv6 address, or `[address]:port` (Salt's forms of `master`)."""
    host, colon, written = name.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return name, port
    if not host or not written.isdigit() or not 0 < int(written) < 65536:
        raise BadMinionSettings(f"{file}: master: {name} is no host, and no host with a port")
    return host.strip("[]"), int(written)
