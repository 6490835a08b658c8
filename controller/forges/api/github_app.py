"""Access as a GitHub App: a signed claim (JWT, RS256) of the App gives a token of an installation for an hour.

https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from controller.forges.api.authorization import bearer, revealed
from controller.forges.client import ForgeNotFound, ForgeRefused
from controller.forges.settings import ForgeOptions, SecretText
from options.kinds import OptionText

if TYPE_CHECKING:
    from controller.forges.api.http import ForgeHttp

_CLAIM_SECONDS = 540
"""GitHub takes ten minutes at most; clocks differ."""
_EARLIER = 60
_SPARE = 120.0
"""Seconds before its end from which on a token is not used any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppOptions(ForgeOptions):
    """The options of a GitHub App, which has a private key instead of a token."""

    app_id: OptionText = ""
    private_key: SecretText = field(default="", repr=False)
    """PEM."""
    installation_id: OptionText = ""
    """Empty: asked of the forge for each project."""

    @property
    def give_access(self) -> bool:
        """Whether one is configured."""
        return bool(self.app_id or self.private_key)

    def problems(self) -> Iterator[str]:
        """An App has both an id and a key."""
        if bool(self.app_id) != bool(self.private_key):
            yield "a GitHub App needs both app_id and private_key ({file: /path/of/the.pem})"
        if self.installation_id and not self.give_access:
            yield "installation_id goes with app_id"


class InstallationToken(msgspec.Struct, frozen=True):
    """A token of an installation, and what it may do."""

    token: str
    expires_at: str
    permissions: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def until(self) -> float:
        """Seconds since the epoch."""
        return datetime.fromisoformat(self.expires_at).timestamp()

    def __repr__(self) -> str:
        return f"InstallationToken(expires_at={self.expires_at!r})"


class _Installation(msgspec.Struct, frozen=True):
    id: int


class AppClaim:
    """The App itself: a claim signed with its private key, made anew for each request."""

    def __init__(self, forge: str, options: AppOptions, clock: Callable[[], float]) -> None:
        """`forge`: its name, for errors; `clock`: seconds since the epoch."""
        self._forge = forge
        self._options = options
        self._clock = clock

    async def headers(self, project: str) -> Mapping[str, str]:
        """The claim. ForgeRefused when there is no usable key."""
        pem = await revealed(self._options.private_key, f"{self._forge}: the private key")
        return bearer(await asyncio.to_thread(_signed, pem, self._options.app_id, int(self._clock()), self._forge))

    async def renew(self, project: str) -> None:
        """Each claim is new."""


class AppAuthorization:
    """Tokens of the installations of one App: asked for when needed, and kept until shortly before their end."""

    def __init__(self, forge: str, options: AppOptions, http: ForgeHttp, clock: Callable[[], float]) -> None:
        """Nothing is asked yet.

        Args:
            forge: its name, for errors.
            options: of the App.
            http: the API as the App itself (`AppClaim`), closed with this.
            clock: seconds since the epoch.
        """
        self._forge = forge
        self._options = options
        self._http = http
        self._clock = clock
        self._tokens: dict[str, InstallationToken] = {}
        self._installations: dict[str, int | str] = {}
        self._busy = asyncio.Lock()

    async def headers(self, project: str) -> Mapping[str, str]:
        """The token of the installation that has the project."""
        return bearer((await self.token(project)).token)

    async def token(self, project: str) -> InstallationToken:
        """A token that holds for a while. ForgeRefused says what is missing."""
        async with self._busy:
            found = self._tokens.get(project)
            if found is None or found.until - _SPARE <= self._clock():
                found = self._tokens[project] = await self._new(project)
            return found

    async def close(self) -> None:
        """End connections."""
        await self._http.close()

    async def renew(self, project: str) -> None:
        """Ask for another token; the App may have been installed anew."""
        self._tokens.pop(project, None)
        self._installations.pop(project, None)

    async def _new(self, project: str) -> InstallationToken:
        installation = self._options.installation_id or self._installations.get(project)
        if not installation:
            installation = self._installations[project] = await self._installation_of(project)
        answer = await self._http.request("POST", f"/app/installations/{installation}/access_tokens")
        return await answer.parsed(InstallationToken)

    async def _installation_of(self, project: str) -> int:
        try:
            return (await self._http.get(f"/repos/{quote(project)}/installation", _Installation)).id
        except ForgeNotFound:
            raise ForgeRefused(
                f"{self._forge}: the App {self._options.app_id} is not installed for {project}: "
                "install it on the App's page"
            ) from None


def _signed(pem: str, app_id: str, now: int, forge: str) -> str:
    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ForgeRefused(f"{forge}: private_key is no RSA key as PEM; make one on the page of the App")
    claims = {"iat": now - _EARLIER, "exp": now + _CLAIM_SECONDS, "iss": app_id}
    parts = [_encoded(msgspec.json.encode(each)) for each in ({"alg": "RS256", "typ": "JWT"}, claims)]
    signature = key.sign(".".join(parts).encode(), padding.PKCS1v15(), hashes.SHA256())
    return ".".join((*parts, _encoded(signature)))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
