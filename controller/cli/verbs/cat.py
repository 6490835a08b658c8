"""`saltern cat`."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.failure import Failure
from controller.cli.trees import parse_path, snapshot_of


@click.command("cat")
@click.argument("path")
@click.option("--env", "saltenv", shell_complete=offers.environments, help="Saltenv; base when PATH names none.")
@click.option("--rev", help="Branch, tag, pull request or commit in place of what is live.")
@click.option("--pillar", is_flag=True, help="Look into the pillar tree.")
@options.out
@options.config_dir
def cat_command(path: str, saltenv: str | None, rev: str | None, pillar: bool, out: str, config_dir: Path) -> None:
    """Print the file PATH (salt://...), as minions see it. Needs no controller."""
    name, env = parse_path(path, saltenv)
    with snapshot_of(config_dir, rev=rev, pillar=pillar) as snapshot:
        try:
            data = snapshot.read(name, env)
        except (FileNotFoundError, ValueError) as error:
            raise Failure(f"{error.args[0]} is not there", hint=f"saltern ls --env {env} lists what is") from None
        view = {"path": name, "saltenv": env, "oid": snapshot.oid(name, env), "mode": f"{snapshot.mode(name, env):04o}"}
    if out == "text":
        sys.stdout.buffer.write(data)
        return
    try:
        content = {"text": data.decode()}
    except UnicodeDecodeError:
        content = {"base64": base64.b64encode(data).decode()}
    output.document({**view, "size": len(data), **content}, out)
