"""How clients reach a controller: the API requests of the command line, with Salt's errors.

Nothing is opened before the first request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from controller.cli.client import Client
from controller.cli.configuration import socket_of
from controller.cli.failure import NO_TARGET, USAGE, Failure
from controller.schema.access import LoginQuestion, NewToken
from extmods.salt_compat.exceptions import (
    AuthorizationError,
    EauthAuthenticationError,
    SaltClientError,
    SaltInvocationError,
)
from saltern.client.opts import config_dir_of

CREDENTIALS = ("username", "password", "eauth", "token")
"""Arguments of Salt's clients that say who asks."""


class NoMinions(SaltClientError):
    """No minion matches a target. Raised inside this package alone: Salt's clients return nothing then."""


class Connection:
    """The controller of a configuration folder, asked over its socket.

    Args:
        opts: as `client_config` gives them; those of the default folder when empty. `token` in them is shown to the
            controller.
        token: the same, and before it. Without either it is `SALTERN_TOKEN`, or that of `saltern login`.
    """

    def __init__(self, opts: Mapping[str, Any] | None = None, token: str | None = None) -> None:
        self.config_dir: Path = config_dir_of(opts or {})
        self.token = token or (opts or {}).get("token") or None
        self._known: dict[tuple[str, str, str], Connection] = {}

    @cached_property
    def _socket(self) -> Path:
        """Where the controller answers: a configuration is read once, not with each request."""
        return socket_of(self.config_dir)

    def of(self, credentials: Mapping[str, Any]) -> Connection:
        """The connection of who has these credentials: `token`, or `username`, `password` and `eauth`.

        Raises:
            EauthAuthenticationError: they are not right, or no user may show such ones.
        """
        opts = {"config_dir": str(self.config_dir)}
        if token := credentials.get("token"):
            return Connection(opts, str(token))
        if not any(credentials.get(name) for name in CREDENTIALS):
            return self
        who = tuple(str(credentials.get(name) or "") for name in ("username", "password", "eauth"))
        user, password, method = who
        if who not in self._known:
            try:
                with Client(self.config_dir, "", self._socket) as client:
                    asked = LoginQuestion(method=method or "pam", user=user, password=password)
                    self._known[user, password, method] = Connection(opts, client.post("/login", asked, NewToken).token)
            except Failure as failure:
                raise EauthAuthenticationError(_said(failure)) from None
        return self._known[user, password, method]

    def open(self) -> Client:
        """A connection of one's own, which whoever asked for it closes. Raises as `stream` does."""
        with explained():
            return Client(self.config_dir, self.token, self._socket).__enter__()

    def stream(self, path: str, question: msgspec.Struct | None = None, **query: Any) -> Iterator[Any]:
        """The items of an answer as they come, to a request that is made when the first is asked for.

        Raises:
            SaltClientError: no controller answers, or it refuses.
            AuthorizationError: who asks may not do this.
            SaltInvocationError: it does not understand the request.
            NoMinions: nobody is meant.
        """
        with explained(), Client(self.config_dir, self.token, self._socket) as client:
            yield from client.stream(path, question, **query)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Failures of verbs as errors that scripts of Salt's clients catch."""
    try:
        yield
    except Failure as failure:
        if failure.forbidden:
            raise AuthorizationError(_said(failure)) from None
        if failure.code == NO_TARGET:
            raise NoMinions(_said(failure)) from None
        if failure.code == USAGE:
            raise SaltInvocationError(_said(failure)) from None
        raise SaltClientError(_said(failure)) from None


def _said(failure: Failure) -> str:
    return "; ".join(filter(None, (failure.message, *failure.problems, failure.hint)))
