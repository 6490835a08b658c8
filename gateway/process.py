"""The process of a gateway: reads its configuration, and serves until it is told to stop.

Called by `saltern gateway`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path

from gateway.controllers import ControllerPlaces
from gateway.gateway import Gateway
from gateway.limits import GatewayLimits
from gateway.ports import SaltPorts
from gateway.protocol.rsa_keys import (
    GatewayKey,
    PubkeySigner,
    load_or_create_key,
    load_or_create_signer,
    rotate_key,
    salt_fingerprint,
)
from gateway.settings import LOCK_FILE, GatewaySettings, controllers_of, gateways_before, load_gateway_settings
from minion.config.files import UNUSABLE, BadMinionSettings
from minion.log import LogShape, log_to_stderr
from minion.machine.file_locks import lock_holder, take_lock
from wire.errors import BadKey, CannotBind

log = logging.getLogger("saltern.gateway")


def main(config_dir: Path, log_level: str | None = None) -> int:
    """Run the gateway of the configuration in `config_dir` until SIGTERM or SIGINT. The exit code."""
    os.umask(0o077)
    log_to_stderr(log_level or "info")
    try:
        settings = load_gateway_settings(config_dir)
        log_to_stderr(log_level or settings.log_level, settings.log_file, shape=LogShape(form=settings.log_format))
        for warning in settings.warnings:
            log.warning("event=setting_questionable warning=%s", warning)
        addresses = controllers_of(settings, config_dir)
        places = ControllerPlaces(addresses, alive_interval=settings.master_alive_interval)
        gateways_before(settings)
        take_folders(settings, config_dir)
        own = gateway_key(settings)
        signer = pubkey_signer(settings)
    except (BadMinionSettings, BadKey) as error:
        log.critical("event=cannot_start error=%s", error)
        return UNUSABLE
    except OSError as error:
        log.critical("event=cannot_start error=%s", error)
        return 1
    try:
        asyncio.run(_serve(settings, config_dir / "gateway", places, own, signer))
    except (CannotBind, BadKey, OSError) as error:
        log.critical("event=cannot_start error=%s", error)
        return 1
    return 0


def gateway_key(settings: GatewaySettings) -> GatewayKey:
    """The key of this gateway, made where there is none. Raises BadKey."""
    return load_or_create_key(_key_file(settings))


def pubkey_signer(settings: GatewaySettings) -> PubkeySigner | None:
    """What signs this key, where `master_sign_pubkey` is set; made where there is none. Raises BadKey, OSError."""
    if not settings.master_sign_pubkey:
        return None
    return load_or_create_signer(settings.pki_dir, settings.master_sign_key_name)


def rotate_own_key(settings: GatewaySettings) -> GatewayKey:
    """Give the gateway another key, which it has from its next start on. Raises BadKey, OSError."""
    return rotate_key(_key_file(settings))


def _key_file(settings: GatewaySettings) -> Path:
    return settings.pki_dir / "master.pem"


def take_folders(settings: GatewaySettings, config_dir: Path) -> None:
    """Take its folders for this gateway, until the process ends. Raises BadMinionSettings, OSError."""
    for option, folder in (("pki_dir", settings.pki_dir), ("cachedir", settings.cachedir)):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = folder / LOCK_FILE
        if take_lock(lock, wait=False) is None:
            raise BadMinionSettings(
                f"{folder}: another gateway (process {lock_holder(lock)}) uses this {option}: stop it, or write "
                f"another `id`, `pki_dir` and `cachedir` into {config_dir / 'gateway'}, and other ports or another "
                "`interface`"
            )


async def _serve(
    settings: GatewaySettings, file: Path, places: ControllerPlaces, own: GatewayKey, signer: PubkeySigner | None
) -> None:
    limits = GatewayLimits()
    ports = SaltPorts(settings.interface, settings.publish_port, settings.ret_port, limits)
    gateway = Gateway(
        own,
        ports,
        places,
        gateway_id=settings.id,
        config_file=file,
        cachedir=settings.cachedir,
        pki_dir=settings.pki_dir,
        limits=limits,
        session_seconds=settings.publish_session,
        signer=signer,
        metrics_file=settings.metrics_textfile,
        shadow=settings.shadow,
        before=gateways_before(settings) if settings.gateways else None,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, gateway.stop)
    log.info(
        "event=started gateway=%s ret_port=%s publish_port=%s controller=%s fingerprint=%s",
        settings.id,
        ports.request_port,
        ports.jobs.port,
        ",".join(places.names),
        salt_fingerprint(own.pem),
    )
    await gateway.run()
    log.info("event=stopped")
