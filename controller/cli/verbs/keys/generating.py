"""`saltern key gen`: a key pair in two files, for a minion that is set up with a key which is accepted beforehand."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import output
from controller.cli.failure import Failure
from wire.errors import BadKey
from wire.keys import fingerprint, load_or_create, valid_minion_id, write_public


def generate(name: str, folder: Path, out: str) -> None:
    """Write `NAME.key`, which becomes `minion.key` of the minion, and `NAME.pub` for `saltern key add`."""
    if not valid_minion_id(name):
        raise click.UsageError(f"{name!r} is no name for files of a key: letters, digits and _ . - @ : are allowed")
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    if private.exists() or public.exists():
        raise Failure(f"{private if private.exists() else public} is there already", hint="choose another name")
    try:
        keys = load_or_create(private)
        write_public(public, keys.public)
    except BadKey as error:
        raise Failure(str(error)) from error
    if out != "text":
        own = {"private": str(private), "public": str(public), "key": keys.public}
        output.document({**own, "fingerprint": fingerprint(keys.public)}, out)
        return
    click.echo(f"{private}  secret: `minion.key` in the minion's pki_dir")
    click.echo(f"{public}  public: saltern key add ID {public}")
    click.echo(f"fingerprint {fingerprint(keys.public)}")
