"""`saltern key add` and `saltern key token`: keys that are accepted without a look at each fingerprint."""

from __future__ import annotations

import time
from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, Failure
from controller.schema.keys import (
    EnrolmentTokenQuestion,
    EnrolmentTokenView,
    KeyView,
    NewEnrolmentToken,
    NewKeyQuestion,
    NextController,
    RotatedKey,
)
from controller.schema.requests import EnrolmentTokensQuestion, RotateControllerQuestion, RotateQuestion
from wire.errors import BadKey
from wire.keys import check_public_key, read_public
from wire.messages import KeyRole

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def add_key(minion: str, key: str, out: str, config_dir: Path, role: KeyRole = "minion") -> None:
    """Accept a key beforehand; `key` is a public key or the file of one."""
    try:
        public = _public(key)
    except (BadKey, OSError, UnicodeDecodeError) as error:
        raise Failure(f"{key}: {error}", hint="give a public key, or the file NAME.pub of `saltern key gen`") from error
    with Client(config_dir) as client:
        view = client.post("/keys/add", NewKeyQuestion(minion=minion, public_key=public, role=role), KeyView)
    if out != "text":
        output.salt_document({"minions": [view.minion]}, out)
    else:
        click.echo(f"Key for {role} {output.printable(view.minion)} accepted.")


def rotate(minion: str, out: str, config_dir: Path) -> None:
    """Have a minion make a new key."""
    with Client(config_dir) as client:
        done = client.post("/keys/rotate", RotateQuestion(minion=minion), RotatedKey)
    if out != "text":
        output.document(done, out)
        return
    click.echo(f"{output.printable(done.minion)} has a new key: {done.new}")
    output.remark(f"the old one is rejected: {done.old}")


def rotate_controller(out: str, config_dir: Path) -> None:
    """Make the controller's next key, and tell it to minions."""
    with Client(config_dir) as client:
        made = client.post("/keys/controller/rotate", RotateControllerQuestion(), NextController)
    if out != "text":
        output.document(made, out)
        return
    click.echo(f"the next key of the controller: {made.public}")
    click.echo(f"fingerprint {made.fingerprint}")
    away = f": {', '.join(made.away)}" if made.away else ""
    output.remark(f"told to {output.counted(made.told, 'minion')}, {len(made.away)} away{away}")
    output.remark("when all have heard: stop the controller, mv controller.key.next controller.key, start it")


def _public(text: str) -> str:
    try:
        check_public_key(text)
    except BadKey:
        return read_public(Path(text).read_text(encoding="utf-8"))
    return text


class Duration(click.ParamType[float]):
    """`30m`, `12h`, `7d`: seconds."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds of it."""
        if isinstance(value, int | float):
            return float(value)
        number, unit = (value[:-1], value[-1]) if value[-1:] in _UNITS else (value, "s")
        if not number.isdecimal() or int(number) < 1:
            self.fail(f"{value!r} is no duration: write 30m, 12h or 7d", param, ctx)
        return float(int(number) * _UNITS[unit])


@click.group("token")
def token_command() -> None:
    """Enrolment tokens: who brings one gets its key accepted."""


@token_command.command("create")
@click.option("--id", "minions", default="*", show_default=True, metavar="GLOB", help="For minions with such an id.")
@click.option("--count", type=click.IntRange(min=1), default=1, show_default=True, help="How many keys it accepts.")
@click.option("--expires", type=Duration(), default="24h", show_default=True, help="When it is good no more.")
@options.out
@options.config_dir_of_verb
def create_command(minions: str, count: int, expires: float, out: str, config_dir: Path) -> None:
    """Make a token and print it; it is not told again."""
    question = EnrolmentTokenQuestion(minions=minions, count=count, seconds=expires)
    with Client(config_dir) as client:
        made = client.post("/keys/tokens", question, NewEnrolmentToken)
    if out != "text":
        output.document(made, out)
        return
    click.echo(made.token)
    output.remark(
        f"for {made.view.minions}, {output.counted(count, 'key')}, revoke it: saltern key token revoke {made.view.id}"
    )


@token_command.command("list")
@options.out
@options.config_dir_of_verb
def list_tokens_command(out: str, config_dir: Path) -> None:
    """Tokens that are good, without their secrets."""
    with Client(config_dir) as client:
        tokens = client.get("/keys/tokens", tuple[EnrolmentTokenView, ...])
    if out != "text":
        output.document(tokens, out)
        return
    rows = [
        (each.id, each.minions, str(each.uses_left), output.span(each.expires - time.time()), each.created_by)
        for each in tokens
    ]
    if rows:
        output.table(("Token", "Minions", "Left", "Expires in", "By"), rows)
    else:
        output.remark("there are no enrolment tokens; make one: saltern key token create --id GLOB")


@token_command.command("revoke")
@click.argument("ids", nargs=-1, required=True, metavar="TOKEN...")
@options.out
@options.config_dir_of_verb
def revoke_command(ids: tuple[str, ...], out: str, config_dir: Path) -> None:
    """Take tokens back; keys that they accepted stay accepted."""
    with Client(config_dir) as client:
        gone = client.post("/keys/tokens/revoke", EnrolmentTokensQuestion(ids=ids), tuple[str, ...])
    if not gone:
        raise Failure("there is no such enrolment token", NO_TARGET, hint="see: saltern key token list")
    if out != "text":
        output.document({"revoked": gone}, out)
        return
    for each in gone:
        click.echo(f"revoked {each}")
