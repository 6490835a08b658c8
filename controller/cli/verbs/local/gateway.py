"""`saltern gateway`. Imports only what a gateway imports itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from controller.cli import options
from controller.cli.failure import OK, USAGE, Failure

if TYPE_CHECKING:
    from gateway.settings import GatewaySettings


@click.command("gateway")
@click.option("-l", "--log-level", help="Instead of the configuration's log_level.")
@click.option(
    "--fingerprint",
    is_flag=True,
    help="Print its fingerprint, for `master_finger` of minions; makes one where there is none, and ends.",
)
@click.option("--key", is_flag=True, help="Print its public key, for `saltern key add --gateway`; makes one, and ends.")
@click.option("--rotate-key", is_flag=True, help="Make another key, which it shows minions after its next start.")
@options.config_dir
def gateway_command(log_level: str | None, fingerprint: bool, key: bool, rotate_key: bool, config_dir: Path) -> int:
    """Carry stock salt-minions to a controller, until it is told to stop: what their `master` is to them."""
    from gateway import process
    from gateway.own_key import OwnKey
    from gateway.protocol.rsa_keys import salt_fingerprint
    from gateway.settings import load_gateway_settings
    from minion.config.files import BadMinionSettings
    from wire.errors import BadKey

    if fingerprint + key + rotate_key > 1:
        raise click.UsageError("one of --fingerprint, --key and --rotate-key at a time")
    if not (fingerprint or key or rotate_key):
        return process.main(config_dir, log_level)
    try:
        settings = load_gateway_settings(config_dir)
        for warning in settings.warnings:
            click.echo(f"saltern: {warning}", err=True)
        if rotate_key:
            return _rotate(settings)
        found = (
            OwnKey(settings.pki_dir, settings.id).keys.public
            if key
            else salt_fingerprint(process.gateway_key(settings).pem)
        )
    except (BadMinionSettings, BadKey) as error:
        raise Failure(str(error), code=USAGE) from error
    except OSError as error:
        hint = "run it as the user of the gateway, or as root"
        raise Failure(f"{error.filename}: {error.strerror}", hint=hint) from None
    click.echo(found)
    if key:
        click.echo(f"its id is {settings.id}: saltern key add --gateway {settings.id} KEY", err=True)
    return OK


def _rotate(settings: GatewaySettings) -> int:
    """Make another key, where minions can follow. Raises BadKey."""
    from gateway import process
    from gateway.protocol.rsa_keys import salt_fingerprint

    if not settings.master_sign_pubkey:
        raise Failure(
            "minions refuse a gateway whose key has changed, unless another key signs it",
            USAGE,
            hint="set `master_sign_pubkey: True` here and `verify_master_pubkey_sign: True` on the minions first, "
            "which need master_sign.pub in their pki_dir",
        )
    try:
        process.pubkey_signer(settings)
        new = process.rotate_own_key(settings)
    except OSError as error:
        raise Failure(f"the key cannot be written: {error}") from error
    click.echo(salt_fingerprint(new.pem))
    click.echo("restart the gateway: it has the new key from then on; the old one is kept in master.old", err=True)
    return OK
