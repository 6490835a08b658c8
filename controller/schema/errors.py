"""Errors of the API: what a `ControllerApi` raises, and how a client gets it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from controller.schema.structs import StreamStruct

ErrorKind: TypeAlias = Literal[
    "bad-request",
    "no-target",
    "not-found",
    "conflict",
    "compile",
    "unauthenticated",  # who asks is not known
    "forbidden",
    "too-many-requests",
    "internal",
    "unavailable",  # of a controller that waits: none leads that could answer
]


class ServiceError(Exception):
    """Raised by a `ControllerApi` for what the asker can understand; becomes a JSON error and an exit code."""

    def __init__(
        self, kind: ErrorKind, message: str, *, hint: str = "", problems: Sequence[str] = (), retry_after: float = 0.0
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.hint = hint
        self.problems = tuple(problems)
        """Ready to print, one for each error of a tree (`compile`)."""
        self.retry_after = retry_after
        """Seconds after which the same may be asked again (`too-many-requests`)."""


class ErrorView(StreamStruct, tag="error", frozen=True, kw_only=True):
    """A `ServiceError`: the body of an answer that is not 2xx, or the last line of a stream that broke."""

    error: ErrorKind
    message: str
    hint: str = ""
    problems: tuple[str, ...] = ()
