"""Credentials on a command line, as `salt` takes them: a token for a password, for one command or kept."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from controller.cli.client import Client
from controller.cli.token_file import keep_token
from controller.schema.access import LoginQuestion, NewToken

_Function = TypeVar("_Function", bound=Callable[..., Any])


def credential_options(function: _Function) -> _Function:
    """Salt's options of who asks; for `show_credentials`."""
    for option in (
        click.option("--password", metavar="TEXT", help="It is asked for where it is missing."),
        click.option("--username", metavar="NAME", help="Whose password it is; your own name by default."),
        click.option("-T", "--make-token", is_flag=True, help="Keep the token, as `saltern login` does."),
        click.option("-a", "--auth", "--eauth", "--external-auth", "auth", metavar="METHOD", help="As who logs in."),
    ):
        function = option(function)
    return function


def show_credentials(given: dict[str, Any], config_dir: Path) -> None:
    """Log in where that is asked for: this process shows the token from then on. Failure when that is refused."""
    auth, kept, user, password = (given.pop(name) for name in ("auth", "make_token", "username", "password"))
    if not (auth or kept or user or password):
        return
    user = user or click.prompt("username", default=getpass.getuser(), err=True)
    password = password or click.prompt("password", hide_input=True, err=True)
    with Client(config_dir, token="") as client:
        question = LoginQuestion(method=auth or "pam", user=user, password=password)
        token = client.post("/login", question, NewToken).token
    os.environ["SALTERN_TOKEN"] = token
    if kept:
        keep_token(token)
