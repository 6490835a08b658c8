"""`saltern ls`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.failure import Failure
from controller.cli.trees import parse_path, snapshot_of


@click.command("ls")
@click.argument("path", default="salt://")
@click.option("--env", "saltenv", help="Saltenv; base when PATH names none.")
@click.option("--rev", help="Branch, tag, pull request or commit in place of what is live.")
@click.option("--pillar", is_flag=True, help="Look into the pillar tree.")
@click.option("-l", "long", is_flag=True, help="Show sizes and blob ids.")
@options.out
@options.config_dir
def ls_command(
    path: str, saltenv: str | None, rev: str | None, pillar: bool, long: bool, out: str, config_dir: Path
) -> None:
    """List all files at or below PATH (salt://...), as minions see them. Needs no controller."""
    folder, env = parse_path(path, saltenv)
    with snapshot_of(config_dir, rev=rev, pillar=pillar) as snapshot:
        found = snapshot.list(folder, env)
        if folder and not found:
            raise Failure(f"salt://{folder} is not there in saltenv {env}")
        if not long and out == "text":
            for name in found:
                click.echo(output.printable(name))
            return
        files = [{"path": name, "oid": snapshot.oid(name, env) or ""} for name in found]
        rows = [{**each, "size": snapshot.blob_size(each["oid"]) or 0} for each in files]
    if out != "text":
        output.document(rows, out)
        return
    output.table(("Oid", "Size", "Path"), [(str(row["oid"]), str(row["size"]), str(row["path"])) for row in rows])
