"""What the clients of all kinds of forges have alike: their making, their end, and comments that cannot be folded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from controller.forges.api.authorization import Authorization, TokenAuthorization, bearer
from controller.forges.api.marks import OUTDATED
from controller.forges.client import PullRequest
from controller.forges.limits import ForgeLimits
from controller.forges.settings import ForgeSettings
from options.limits import CountRefusal

if TYPE_CHECKING:  # httpx: start time of commands that read a configuration with forges
    from controller.forges.api.http import ForgeHttp


class Connect(Protocol):
    """Makes the way to the forge's API; nothing is connected yet."""

    def __call__(self, authorization: Authorization, headers: Mapping[str, str]) -> ForgeHttp:
        """`headers` go with every request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientParts:
    """What a client is made of."""

    settings: ForgeSettings
    limits: ForgeLimits
    refused: CountRefusal
    """Hears the name of a limit that something exceeds."""
    clock: Callable[[], float]
    """Seconds since the epoch."""
    connect: Connect


class HttpForgeClient(ABC):
    """A client of a forge with an HTTP API. The rest of `ForgeClient` is the kind's."""

    headers: ClassVar[Mapping[str, str]] = {}
    """That go with every request."""

    def __init__(self, parts: ClientParts) -> None:
        """Nothing is connected yet."""
        self.name = parts.settings.name
        self._limits = parts.limits
        self._refused = parts.refused
        self._http = parts.connect(self.authorization(parts), self.headers)

    def authorization(self, parts: ClientParts) -> Authorization:
        """What makes requests ours: here the token as `Authorization: Bearer`."""
        return TokenAuthorization(self.name, parts.settings.token, bearer)

    async def close(self) -> None:
        """End connections."""
        await self._http.close()

    @abstractmethod
    async def open_pull_requests(self, project: str) -> Sequence[PullRequest]:
        """All open ones."""

    @abstractmethod
    async def edit_comment(self, project: str, number: int, comment: str, body: str) -> None:
        """Replace the text of one of ours."""

    async def hide_comment(self, project: str, number: int, comment: str) -> None:
        """Say that it is outdated."""
        await self.edit_comment(project, number, comment, OUTDATED)

    async def count_open(self, project: str) -> str:
        """Proves that pull requests can be read."""
        return f"{len(await self.open_pull_requests(project))} open"

    async def write_absent(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any],
        accept: tuple[int, ...],
        *,
        project: str = "",
        parameters: Mapping[str, str | int] | None = None,
    ) -> str:
        """Proves that something may be written, by writing to what there is not.

        `accept`: statuses of an answer that looked at the right before. The others are those of `ForgeHttp.request`.
        """
        answer = await self._http.request(
            method, path, project=project, parameters=parameters, body=body, accept=accept
        )
        return f"answered {answer.status} for what there is not"
