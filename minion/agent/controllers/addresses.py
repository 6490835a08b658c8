"""The controllers that the configuration names: where each is, its key, and where the minion keeps what is about it.

Called by the composition root of the agent. Opens nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minion.config.connecting import check_hosts, host_and_port, key_of, relay_key_of
from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings
from minion.spool.journal import folder_name
from wire.address import Address


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
    check_hosts(settings.controller_key, settings.master, file, "controller_key", "master")
    check_hosts(settings.relay_key, settings.master, file, "relay_key", "master")
    known = tuple(_known(settings, name, file) for name in settings.master)
    _check_ways(settings, known, file)
    return known


def _known(settings: MinionSettings, name: str, file: str) -> KnownController:
    key = key_of(settings.controller_key, name, file, "controller_key")
    if not key:
        raise BadMinionSettings(
            f"{file}: controller_key: {name} has none: write what `saltern key controller` prints there as "
            f"`controller_key: {{{name}: KEY}}`"
        )
    host, port = host_and_port(name, settings.master_port, file, "master")
    address = Address(
        host=host,
        publish_port=settings.publish_port,
        request_port=port,
        controller_key=key,
        relay_key=relay_key_of(settings.relay_key, name, file),
    )
    own = settings.pki_dir / "controllers" / folder_name(name)
    folder = own if len(settings.master) > 1 or own.exists() else settings.pki_dir
    return KnownController(name=name, address=address, folder=folder)


def _check_ways(settings: MinionSettings, known: tuple[KnownController, ...], file: str) -> None:
    """Connected to all at once, a minion has one way to each controller: a second one would end the first."""
    keys = [each.address.controller_key for each in known if each.address.relay_key]
    if settings.master_type == "str" and any(
        sum(each.address.controller_key == key for each in known) > 1 for key in keys
    ):
        raise BadMinionSettings(
            f"{file}: `master` has several ways to one controller by relays: write `master_type: failover`"
        )
