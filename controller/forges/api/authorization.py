"""What makes a request ours: a token in the form that a forge wants it.

Secrets are read when they are needed and again when the forge does not accept them any more: they can be changed in
place. They are in no error and no log. A GitHub App's are in `controller.forges.api.github_app`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from typing import Protocol

from controller.forges.client import ForgeRefused
from controller.forges.settings import ForgeSecret
from gitfs.config.credentials import reveal


class Authorization(Protocol):
    """Credentials of one forge."""

    async def headers(self, project: str) -> Mapping[str, str]:
        """Headers of a request about a project. ForgeRefused when there is no secret."""

    async def renew(self, project: str) -> None:
        """The forge did not accept the last ones: have others the next time."""


class TokenAuthorization:
    """One token for all projects."""

    def __init__(self, forge: str, secret: ForgeSecret, form: Callable[[str], Mapping[str, str]]) -> None:
        """Nothing is read yet.

        Args:
            forge: its name, for errors.
            secret: the token, or where it stands.
            form: token -> headers.
        """
        self._forge = forge
        self._secret = secret
        self._form = form
        self._headers: Mapping[str, str] | None = None

    async def headers(self, project: str) -> Mapping[str, str]:
        """The same for each project."""
        if self._headers is None:
            self._headers = self._form(await revealed(self._secret, f"{self._forge}: the token"))
        return self._headers

    async def renew(self, project: str) -> None:
        """Read the token again: somebody may have replaced it."""
        self._headers = None


async def revealed(secret: ForgeSecret, what: str) -> str:
    """The secret, read in a thread: a vault may be slow. ForgeRefused names the place."""
    try:
        found = await asyncio.to_thread(reveal, secret)
    except LookupError as error:
        raise ForgeRefused(f"{what} cannot be had: {error}") from None
    if not found or not found.isascii():
        raise ForgeRefused(f"{what} is empty or not ASCII; look at where it stands")
    return found


def bearer(token: str) -> Mapping[str, str]:
    """`Authorization: Bearer`."""
    return {"authorization": f"Bearer {token}"}


def basic(user: str, token: str) -> Mapping[str, str]:
    """A token as the password of a user, who may be empty."""
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()}
