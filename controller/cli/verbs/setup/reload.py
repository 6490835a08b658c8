"""`saltern reload`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.schema.fleet.reloads import ReloadQuestion, ReloadView


@click.command("reload")
@click.option("--check", is_flag=True, help="Only say what a reload would do.")
@options.out
@options.config_dir
def reload_command(check: bool, out: str, config_dir: Path) -> None:
    """Have the controller take its configuration anew, without a restart; refused whole when something is wrong."""
    with Client(config_dir) as client:
        view = client.post("/config/reload", ReloadQuestion(check=check), ReloadView)
    if out != "text":
        output.document(view, out)
        return
    word = "would be reloaded" if check else "reloaded"
    for name in view.reloaded:
        click.echo(f"{word} {name}")
    for name in view.restart:
        click.echo(f"needs a restart {name}")
    if not view.reloaded and not view.restart:
        output.remark("the configuration is as it was")
    if view.restart:
        output.remark("what needs a restart is as it was: systemctl restart saltern-controller")
