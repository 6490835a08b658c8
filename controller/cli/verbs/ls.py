"""`saltern ls`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.failure import Failure
from controller.cli.trees import parse_path, snapshot_of


@click.command("ls")
@click.argument("path", default="salt://")
@click.option("--env", "saltenv", shell_complete=offers.environments, help="Saltenv; base when PATH names none.")
@click.option("--rev", help="Branch, tag, pull request or commit in place of what is live.")
@click.option("--pillar", is_flag=True, help="Look into the pillar tree.")
@click.option("-l", "long", is_flag=True, help="Show modes, sizes and blob ids.")
@options.out
@options.config_dir
def ls_command(
    path: str, saltenv: str | None, rev: str | None, pillar: bool, long: bool, out: str, config_dir: Path
) -> None:
    """List all files at or below PATH (salt://...), as minions see them. Needs no controller."""
    folder, env = parse_path(path, saltenv)
    with snapshot_of(config_dir, rev=rev, pillar=pillar) as snapshot:
        found = snapshot.list(folder, env)
        left_out = [path for path in snapshot.left_out(env) if not folder or f"{path}/".startswith(f"{folder}/")]
        if left_out and not (folder and not found):
            hint = "`saltern remote show NAME` says why"
            output.remark(f"{len(left_out)} more are no files here, as {output.printable(left_out[0])!r}; {hint}")
        if folder and not found:
            why = "; ".join(f"{path}: {reason}" for path, reason in snapshot.left_out(env).items() if path in left_out)
            raise Failure(
                f"salt://{folder} is not there in saltenv {env}" + (f" ({output.printable(why)})" if why else ""),
                hint=f"saltenvs are {', '.join(snapshot.saltenvs())}" if env not in snapshot.saltenvs() else "",
            )
        if not long and out == "text":
            for name in found:
                click.echo(output.printable(name))
            return
        files = [{"path": name, "oid": snapshot.oid(name, env) or ""} for name in found]
        rows = [
            {**each, "size": snapshot.blob_size(each["oid"]) or 0, "mode": f"{snapshot.mode(each['path'], env):04o}"}
            for each in files
        ]
    if out != "text":
        output.document(rows, out)
        return
    heads = ("Oid", "Mode", "Size", "Path")
    output.table(heads, [tuple(str(row[head.lower()]) for head in heads) for row in rows])
