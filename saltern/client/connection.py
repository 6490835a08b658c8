"""How clients reach a controller: the API requests of the command line, with Salt's errors.

Each client makes one; nothing is opened before the first request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from controller.cli.client import Client
from controller.cli.failure import NO_TARGET, USAGE, Failure
from controller.cli.options import DEFAULT_CONFIG_DIR
from extmods.salt_compat.exceptions import SaltClientError, SaltInvocationError
from saltern.client.opts import config_dir_of


class NoMinions(SaltClientError):
    """No minion matches a target. Raised inside this package alone: Salt's clients return nothing then."""


class Connection:
    """The controller of a configuration folder, asked over its socket.

    Args:
        opts: as `client_config` gives them; those of the default folder when empty.
    """

    def __init__(self, opts: Mapping[str, Any] | None = None) -> None:
        self.config_dir: Path = config_dir_of(opts) if opts else DEFAULT_CONFIG_DIR

    def open(self) -> Client:
        """A connection of one's own, which whoever asked for it closes. Raises as `stream` does."""
        with explained():
            return Client(self.config_dir).__enter__()

    def stream(self, path: str, question: msgspec.Struct | None = None, **query: Any) -> Iterator[Any]:
        """The items of an answer as they come, to a request that is made when the first is asked for.

        Raises:
            SaltClientError: no controller answers, or it refuses.
            SaltInvocationError: it does not understand the request.
            NoMinions: nobody is meant.
        """
        with explained(), Client(self.config_dir) as client:
            yield from client.stream(path, question, **query)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Failures of verbs as errors that scripts of Salt's clients catch."""
    try:
        yield
    except Failure as failure:
        said = "; ".join(filter(None, (failure.message, *failure.problems, failure.hint)))
        if failure.code == NO_TARGET:
            raise NoMinions(said) from None
        if failure.code == USAGE:
            raise SaltInvocationError(said) from None
        raise SaltClientError(said) from None
