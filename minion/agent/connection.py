"""Opens the agent's connection: checks the settings, locks the cache directory, reads or makes the key.

Called once, by the agent's composition root.
"""

from __future__ import annotations

import logging

from minion.agent.controller_keys import ControllerKeys
from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings
from minion.machine.file_locks import lock_holder, take_lock
from wire.address import Address
from wire.client import Connection
from wire.errors import BadKey
from wire.keys import check_public_key, fingerprint, load_or_create

log = logging.getLogger(__name__)


def open_connection(settings: MinionSettings) -> tuple[Connection, str]:
    """The connection, and the fingerprint of the key that it uses. Raises BadMinionSettings, BadKey and OSError."""
    _check(settings)
    settings.cachedir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = settings.cachedir / "agent.lock"
    if take_lock(lock, wait=False) is None:
        raise BadMinionSettings(f"{lock}: another agent (process {lock_holder(lock)}) uses this cachedir")
    keys = load_or_create(settings.pki_dir / "minion.key")
    address = Address(
        host=settings.master[0],
        publish_port=settings.publish_port,
        request_port=settings.master_port,
        controller_key=ControllerKeys(settings.pki_dir, settings.controller_key).current,
    )
    own = fingerprint(keys.public)
    log.info("event=started id=%s master=%s fingerprint=%s", settings.id, address.host, own)
    return Connection(address, keys), own


def _check(settings: MinionSettings) -> None:
    if not settings.master or not settings.controller_key:
        raise BadMinionSettings(
            f"{settings.config_dir}/minion: `master` (the controller's host) and `controller_key` "
            "(what `saltern key controller` prints there) are needed"
        )
    try:
        check_public_key(settings.controller_key)
    except BadKey as error:
        raise BadMinionSettings(f"{settings.config_dir}/minion: controller_key: {error}") from error
    if len(settings.master) > 1:
        log.warning("event=masters_ignored used=%s ignored=%s", settings.master[0], ", ".join(settings.master[1:]))
