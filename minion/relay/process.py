"""The process of a relay: reads its configuration, and carries frames until it is told to stop.

Called by `saltern relay`.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from pathlib import Path

from minion.config.files import UNUSABLE, BadMinionSettings
from minion.log import LogShape, log_to_stderr
from minion.relay.settings import RelaySettings, controller_of, load_relay_settings
from wire.address import Bind
from wire.errors import BadKey, CannotBind, CannotConnect
from wire.keys import KeyPair, fingerprint, load_or_create
from wire.relay.relay import Relay

log = logging.getLogger("saltern.relay")


def main(config_dir: Path, log_level: str | None = None) -> int:
    """Run the relay of the configuration in `config_dir` until SIGTERM or SIGINT. The exit code."""
    os.umask(0o077)
    log_to_stderr(log_level or "info")
    try:
        settings = load_relay_settings(config_dir)
        shape = LogShape(form=settings.log_format, bound={"relay": settings.id})
        log_to_stderr(log_level or settings.log_level, settings.log_file, shape=shape)
        for warning in settings.warnings:
            log.warning("event=setting_questionable warning=%s", warning)
        keys = relay_keys(settings)
        bind = Bind(host=settings.interface, publish_port=None, request_port=settings.ret_port)
        relay = Relay(settings.id, bind, controller_of(settings, config_dir), keys)
    except (BadMinionSettings, BadKey) as error:
        log.critical("event=cannot_start error=%s", error)
        return UNUSABLE
    except (CannotBind, OSError) as error:
        log.critical("event=cannot_start error=%s", error)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: relay.stop())
    gc.collect()
    gc.freeze()  # what is imported stays
    own = fingerprint(keys.public)
    log.info(
        "event=started relay=%s port=%s controller=%s fingerprint=%s",
        settings.id,
        relay.port,
        settings.syndic_master,
        own,
    )
    try:
        relay.run()
    except CannotConnect as error:
        log.critical("event=cannot_connect error=%s", error)
        return 1
    log.info("event=stopped relay=%s", settings.id)
    return 0


def relay_keys(settings: RelaySettings) -> KeyPair:
    """The key of this relay, made where there is none. Raises BadKey."""
    return load_or_create(settings.pki_dir / "relay.key")
