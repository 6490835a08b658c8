"""`saltern minion join`. Imports what a minion has."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from controller.cli import options
from controller.cli.failure import FAILED, OK, UNREACHABLE, Failure

UNIT = "saltern-minion.service"


@click.command("join")
@click.argument("controller")
@click.option("--key", required=True, help="Public key of the controller (`saltern key controller`).")
@click.option("--token", default="", help="Enrolment token; without, somebody accepts the key.")
@click.option("--port", type=click.IntRange(1, 65535), default=4506, show_default=True, help="Its ret_port.")
@click.option("--id", "minion_id", default="", help="Id of this minion; the name of this host.")
@click.option(
    "--root-dir", type=click.Path(path_type=Path, file_okay=False), default="/", show_default=True, help="Keys, cache."
)
@click.option("--offline", is_flag=True, help="Do not look whether the controller is reached.")
@click.option("--no-start", is_flag=True, help="Leave systemd alone.")
@options.config_dir_of_verb
def join_command(
    controller: str,
    key: str,
    token: str,
    port: int,
    minion_id: str,
    root_dir: Path,
    offline: bool,
    no_start: bool,
    config_dir: Path,
) -> int:
    """Set up this machine as a minion of CONTROLLER: the line that `saltern init` prints.

    A minion that is set up for it stays as it is, but for a new token.
    """
    from minion.setup.joining import CannotJoin, JoinRequest, check_reachable, check_request, join
    from minion.setup.units import CannotStart, SystemdUnits

    config, root = config_dir.absolute(), root_dir.absolute()
    request = JoinRequest(
        controller=controller,
        port=port,
        controller_key=key,
        token=token,
        minion_id=minion_id,
        config_dir=config,
        root_dir=root,
    )
    manager = SystemdUnits()
    is_service = manager.runs and os.geteuid() == 0 and root == Path("/") and config == options.DEFAULT_CONFIG_DIR
    try:
        check_request(request)
        if not offline:
            check_reachable(request)
        joined = join(request)
        click.echo(f"{'made' if joined.made else 'is there'}: {joined.config}, minion {joined.id}", err=True)
        click.echo(f"fingerprint of its key: {joined.fingerprint}", err=True)
        if is_service and not no_start:
            manager.enable(UNIT)
            click.echo(f"started: {UNIT}; its log: journalctl -u {UNIT}", err=True)
            return OK
    except CannotJoin as error:
        raise Failure(str(error), UNREACHABLE if error.unreachable else FAILED, hint=error.hint) from None
    except CannotStart as error:
        raise Failure(str(error), FAILED, hint=error.hint) from None
    option = "" if config == options.DEFAULT_CONFIG_DIR else f" -c {shlex.quote(str(config))}"
    click.echo(f"start it: saltern minion{option}", err=True)
    return OK
