"""`saltern token`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, Failure
from controller.schema.access import NewToken, ScopeName, TokenQuestion, TokensQuestion, TokenView
from options.durations import parse_seconds


@click.group("token")
@options.config_dir
@click.pass_context
def token_command(ctx: click.Context, config_dir: Path) -> None:
    """Tokens by which scripts and people show who they are (SALTERN_TOKEN)."""
    ctx.default_map = {verb: {"config_dir": config_dir} for verb in token_command.commands}


@token_command.command("create")
@click.argument("user")
@click.option("--expires", default="30d", show_default=True, metavar="TIME", help="How long it lives: 12h, 30d.")
@click.option("--group", "groups", multiple=True, help="A group of its holder; may be given again.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "operate", "approve", "admin"]),
    help="What it is for alone; without any, everything that USER may. May be given again.",
)
@click.option("--note", default="", help="What it is for.")
@options.out
@options.config_dir_of_verb
def create_command(
    user: str,
    expires: str,
    groups: tuple[str, ...],
    scopes: tuple[ScopeName, ...],
    note: str,
    out: str,
    config_dir: Path,
) -> None:
    """A token whose holder is USER: publisher_acl and api_roles say what that may do. It is shown this once."""
    question = TokenQuestion(user=user, groups=groups, seconds=_seconds(expires), note=note, scopes=scopes)
    with Client(config_dir) as client:
        made = client.post("/tokens", question, NewToken)
    if out != "text":
        output.document(made, out)
        return
    click.echo(made.token)
    output.remark(f"token {made.view.id} of {user}, until {output.clock(made.view.expires)}; it is not shown again")


@token_command.command("list")
@options.out
@options.config_dir_of_verb
def list_command(out: str, config_dir: Path) -> None:
    """Tokens that are good."""
    with Client(config_dir) as client:
        views = client.get("/tokens", tuple[TokenView, ...])
    if out != "text":
        output.document(views, out)
        return
    if not views:
        output.remark("there are no tokens")
        return
    rows = [
        (view.id, view.user, view.method, _scopes(view), output.clock(view.expires), view.created_by, view.note)
        for view in views
    ]
    output.table(("Token", "User", "Method", "Scopes", "Expires", "Created by", "Note"), rows)


@token_command.command("revoke")
@click.argument("ids", nargs=-1, required=True, metavar="TOKEN...")
@options.out
@options.config_dir_of_verb
def revoke_command(ids: tuple[str, ...], out: str, config_dir: Path) -> None:
    """Take tokens back, by their ids."""
    with Client(config_dir) as client:
        gone = client.post("/tokens/revoke", TokensQuestion(ids=ids), tuple[str, ...])
    if out != "text":
        output.document({"revoked": gone}, out)
    elif gone:
        click.echo("\n".join(f"revoked {each}" for each in gone))
    if missing := [each for each in ids if each not in gone]:
        raise Failure(f"there is no token {', '.join(missing)}", NO_TARGET, hint="see: saltern token list")


def _scopes(view: TokenView) -> str:
    return " ".join(view.scopes) or "all"


def _seconds(text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise click.UsageError(f"--expires: {error}") from None
