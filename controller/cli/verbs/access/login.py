"""`saltern login`, `logout` and `whoami`."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import Failure
from controller.cli.token_file import forget_token, keep_token, kept_token
from controller.schema.access import LoginQuestion, NewToken, TokensQuestion, WhoAmI


@click.command("login")
@click.option("-a", "--auth", "method", default="pam", show_default=True, help="Method of external_auth.")
@click.option("--username", metavar="NAME", help="Whose password it is; your own name by default.")
@click.option("--print", "shown", is_flag=True, help="Print the token, and keep it nowhere.")
@options.out
@options.config_dir
def login_command(method: str, username: str | None, shown: bool, out: str, config_dir: Path) -> None:
    """Get a token for a password; the verbs show it until it expires.

    The password is asked for, or read from standard input where that is no terminal. The token is kept in
    ~/.saltern_token, which you alone may read; SALTERN_TOKEN goes before it.
    """
    user = username or getpass.getuser()
    password = getpass.getpass(f"Password of {user}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    with Client(config_dir, token="") as client:
        made = client.post("/login", LoginQuestion(method=method, user=user, password=password), NewToken)
    if shown:
        if out == "text":
            click.echo(made.token)
        else:
            output.document(made, out)
        return
    path = keep_token(made.token)
    if out != "text":
        output.document(made.view, out)
        return
    click.echo(f"you are {made.view.user} until {output.clock(made.view.expires)}; the token is in {path}")


@click.command("logout")
@options.out
@options.config_dir
def logout_command(out: str, config_dir: Path) -> None:
    """Take back the token of `saltern login`, and forget it."""
    token = kept_token()
    if not token:
        raise Failure("there is no token: you have not logged in", hint="saltern login gets one")
    try:
        with Client(config_dir, token=token) as client:
            view = client.get("/whoami", WhoAmI)
            client.post("/tokens/revoke", TokensQuestion(ids=(view.token,)), tuple[str, ...])
    except Failure as failure:
        forget_token()
        raise Failure(f"the token is forgotten here, and was not taken back: {failure.message}") from None
    forget_token()
    if out != "text":
        output.document({"revoked": [view.token]}, out)
        return
    click.echo(f"token {view.token} is taken back")


@click.command("whoami")
@options.out
@options.config_dir
def whoami_command(out: str, config_dir: Path) -> None:
    """Who you are for the controller, and how it knows."""
    with Client(config_dir) as client:
        view = client.get("/whoami", WhoAmI)
    if out != "text":
        output.document(view, out)
        return
    how = f"by token {view.token} ({view.method})" if view.token else "as the system says"
    groups = f", of {', '.join(view.groups)}" if view.groups else ""
    click.echo(f"{view.user}{groups}, {how}" + ("; you may do everything" if view.everything else ""))
