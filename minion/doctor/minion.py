"""All checks of a machine that is a minion. Called by `saltern doctor --minion`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import zmq

from minion.agent.controllers.addresses import KnownController, known_controllers
from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings, load_settings
from minion.doctor import judgements, looks
from minion.doctor.finding import CheckFinding
from wire.errors import BadKey
from wire.keys import KeyPair, fingerprint, load_or_create
from wire.probe import probe

UNIT = "saltern-minion.service"
_DESCRIPTORS = 256
"""An agent with its children, beacons and a few controllers."""


def examine(config_dir: Path, seconds: float) -> Iterator[CheckFinding]:
    """The findings, in the order in which a person would look.

    Args:
        config_dir: of the minion.
        seconds: that each look at a controller may take.
    """
    yield from of_this_machine()
    file = str(config_dir / "minion")
    try:
        settings = load_settings(config_dir)
        controllers = known_controllers(settings)
    except (BadMinionSettings, OSError) as error:
        yield judgements.configuration(file, tuple(str(error).splitlines()))
        return
    yield judgements.configuration(file, (), settings.warnings)
    yield judgements.configuration_files(looks.configuration_files(config_dir, "minion"), os.geteuid())
    yield from _files(settings)
    yield judgements.open_files(looks.descriptor_limit(), _DESCRIPTORS, "a process of this user")
    yield judgements.unit_active(UNIT, looks.unit_state(UNIT))
    keys = _own_keys(settings)
    for controller in controllers:
        yield from _controller(controller, keys, seconds, file)


def of_this_machine() -> Iterator[CheckFinding]:
    """Checks that need no configuration."""
    yield judgements.python_version(sys.version_info[:2])
    major, minor, patch = zmq.zmq_version_info()
    yield judgements.libzmq_version((int(major), int(minor), int(patch)), zmq.has("curve"))
    yield judgements.random_numbers(looks.random_is_ready())
    yield judgements.inotify(*looks.inotify_limits())


def _files(settings: MinionSettings) -> Iterator[CheckFinding]:
    path = settings.pki_dir / "minion.key"
    yield judgements.key_file(path, looks.look_at_file(path), os.geteuid())
    yield judgements.disk_space("cache", settings.cachedir, *looks.free_space(settings.cachedir))


def _own_keys(settings: MinionSettings) -> KeyPair | None:
    """The key, where there is one that can be used; none is made."""
    path = settings.pki_dir / "minion.key"
    try:
        return load_or_create(path) if path.exists() else None
    except (BadKey, OSError):
        return None


def _controller(controller: KnownController, keys: KeyPair | None, seconds: float, file: str) -> Iterator[CheckFinding]:
    address = controller.address
    where = f"{address.host} port {address.request_port}"
    outcome, error = probe(address.host, address.request_port, seconds)
    yield judgements.controller_port(where, outcome, error)
    if outcome != "curve":
        return
    if address.relay_key:  # the controller is behind it, and known to a session alone
        look = looks.shake_hands(address.host, address.request_port, address.relay_key, None, seconds)
        yield judgements.controller_key(f"the relay {where}", look, file, "relay_key")
        return
    look = looks.shake_hands(address.host, address.request_port, address.controller_key, None, seconds)
    yield judgements.controller_key(where, look, file)
    if not look.proved:
        return
    if keys is None:
        yield judgements.own_key("its fingerprint, once it has started", None)
        return
    beat = looks.shake_hands(address.host, address.publish_port, address.controller_key, keys, seconds)
    yield judgements.own_key(fingerprint(keys.public), beat.accepted if beat.proved else None)
    if beat.accepted:
        skew = None if beat.controller_time is None else beat.heard_at - beat.controller_time
        yield judgements.clock_skew(skew)
