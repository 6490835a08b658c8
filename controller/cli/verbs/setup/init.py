"""`saltern init`: a controller on this machine, and the line by which minions join it."""

from __future__ import annotations

import math
import os
import pwd
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from controller.cli import options, output
from controller.cli.failure import FAILED, OK, USAGE, Failure
from controller.cli.verbs.keys.enrolling import Duration
from minion.setup.units import CannotStart, SystemdUnits

if TYPE_CHECKING:
    from controller.config.settings import ControllerSettings
    from controller.setup.first_setup import Setup

UNIT = "saltern-controller.service"
_USERADD = ("useradd", "--system", "--home-dir", "/var/lib/saltern", "--shell", "/usr/sbin/nologin")
_FOLDER = click.Path(path_type=Path, file_okay=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWanted:
    """The token that the line has."""

    count: int
    seconds: float
    address: str


@click.command("init")
@click.option("--root-dir", type=_FOLDER, default="/", show_default=True, help="Keys, store, cache lie below.")
@click.option("--example-tree", type=_FOLDER, help="Where the example goes; srv/saltern below --root-dir.")
@click.option("--remote", default="", help="Address of your own repository, in place of the example.")
@click.option("--address", default="", help="By which minions reach this machine; its name.")
@click.option("--count", type=click.IntRange(min=1), default=1, show_default=True, help="Minions that the line is for.")
@click.option("--expires", type=Duration(), default="24h", show_default=True, help="When the line is good no more.")
@click.option("--no-start", is_flag=True, help="Leave systemd alone.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@options.out
@options.config_dir
def init_command(
    root_dir: Path,
    example_tree: Path | None,
    remote: str,
    address: str,
    count: int,
    expires: float,
    no_start: bool,
    yes: bool,
    out: str,
    config_dir: Path,
) -> int:
    """Set up a controller: configuration, key, an example of states and pillar, and a line by which minions join.

    What is there stays as it is, so that it may be run again; each run makes another line.
    """
    from controller.setup.first_setup import SERVICE_USER, Setup, SetupFailed, SetupRequest

    root, config = root_dir.absolute(), config_dir.absolute()
    tree = (example_tree or root / "srv/saltern").absolute()
    manager = SystemdUnits()
    service = _is_service(manager, root, config) and not no_start
    setup = Setup(request=SetupRequest(config_dir=config, root_dir=root, tree=tree, remote=remote))
    _ask(setup, service, yes)
    os.umask(0o022)  # the service reads the tree as a user of its own; keys have modes of their own
    try:
        if service:
            _make_user(SERVICE_USER)
        if os.geteuid() == 0 and root == Path("/") and _has_user(SERVICE_USER):
            setup.service_user = SERVICE_USER
        settings, public = setup.run()
        if service:
            manager.enable(UNIT)
        token, until = _token(setup, settings, count, expires)
    except (SetupFailed, CannotStart) as error:
        problems = error.problems if isinstance(error, SetupFailed) else ()
        raise Failure(str(error), FAILED, hint=error.hint, problems=problems) from None
    wanted = TokenWanted(count=count, seconds=until, address=address)
    _tell(setup, settings, public, token, wanted, service=service, out=out)
    return OK


def _is_service(manager: SystemdUnits, root: Path, config: Path) -> bool:
    """Whether the controller of these folders is the service of this machine."""
    return manager.runs and os.geteuid() == 0 and root == Path("/") and config == options.DEFAULT_CONFIG_DIR


def _ask(setup: Setup, service: bool, yes: bool) -> None:
    """Show what will be done, and have somebody say yes."""
    if yes:
        return
    for step in [*setup.plan(), *([f"{UNIT}, enabled and started"] if service else [])]:
        output.remark(f"  - {step}")
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure("nothing was done: nobody was asked, as this is no terminal", USAGE, hint="--yes does all of it")
    click.confirm("Do this?", default=True, abort=True, err=True)


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _make_user(name: str) -> None:
    if _has_user(name):
        return
    try:
        done = subprocess.run([*_USERADD, name], capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotStart(f"useradd: {error.strerror}", f"make the system user {name}, and run this again") from error
    if done.returncode:
        raise CannotStart(f"useradd: {done.stderr.strip()}", f"make the system user {name}, and run this again")


def _token(setup: Setup, settings: ControllerSettings, count: int, seconds: float) -> tuple[str, float]:
    """A token from the controller that runs, else from its store; and when it expires."""
    from controller.cli.client import Client
    from controller.schema.keys import EnrolmentTokenQuestion, NewEnrolmentToken

    if not settings.socket.is_socket():
        return setup.token(settings, count, seconds)
    with Client(setup.request.config_dir, socket_path=settings.socket) as client:
        question = EnrolmentTokenQuestion(minions="*", count=count, seconds=seconds)
        made = client.post("/keys/tokens", question, NewEnrolmentToken)
    return made.token, made.view.expires


def _tell(
    setup: Setup, settings: ControllerSettings, public: str, token: str, wanted: TokenWanted, *, service: bool, out: str
) -> None:
    from controller.setup.first_setup import address_of, join_line
    from wire.keys import fingerprint

    line = join_line(settings, public, token, wanted.address or address_of(settings))
    folder = setup.request.config_dir
    option = "" if folder == options.DEFAULT_CONFIG_DIR else f" -c {shlex.quote(str(folder))}"
    runs = service or settings.socket.is_socket()
    if out != "text":
        found = {"made": setup.made, "kept": setup.kept, "config": str(setup.config), "public_key": public}
        more = {"fingerprint": fingerprint(public), "token": token, "expires": wanted.seconds, "join": line}
        output.document({**found, **more, "running": runs}, out)
        return
    for path in setup.kept:
        output.remark(f"is there: {path}")
    for path in setup.made:
        output.remark(f"made: {path}")
    output.remark(f"fingerprint of the controller: {fingerprint(public)}")
    if not runs:
        output.remark(f"start it: saltern controller{option}")
    minions = output.counted(wanted.count, "minion")
    output.remark(f"on {minions}, as root, within {output.span(math.ceil((wanted.seconds - time.time()) / 60) * 60)}:")
    click.echo(line)
    output.remark(f"then: saltern status{option}")
