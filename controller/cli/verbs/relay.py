"""`saltern relay`. Imports only what a relay imports itself."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options
from controller.cli.failure import OK, USAGE, Failure


@click.command("relay")
@click.option("-l", "--log-level", help="Instead of the configuration's log_level.")
@click.option("--key", is_flag=True, help="Print the relay's public key, for `relay_key` of minions; runs nothing.")
@click.option(
    "--fingerprint", is_flag=True, help="Print its fingerprint, as `saltern key list -v` shows it; runs nothing."
)
@options.config_dir
def relay_command(log_level: str | None, key: bool, fingerprint: bool, config_dir: Path) -> int:
    """Carry minions to a controller that they do not reach themselves, until it is told to stop (Salt's syndic)."""
    from minion.config.files import BadMinionSettings
    from minion.relay import process
    from minion.relay.settings import load_relay_settings
    from wire import keys
    from wire.errors import BadKey

    if not (key or fingerprint):
        return process.main(config_dir, log_level)
    try:
        own = process.relay_keys(load_relay_settings(config_dir)).public
    except (BadMinionSettings, BadKey) as error:
        raise Failure(str(error), code=USAGE) from error
    click.echo(keys.fingerprint(own) if fingerprint else own)
    return OK
