"""Tokens of an issuer of OpenID Connect: whose they are, by the issuer's published keys. Called by `access`.

Sources: OpenID Connect Discovery 1.0 (sections 3 and 4), RFC 7517 (keys), RFC 7519 (claims), RFC 8725 (which algorithms
to take, and what to check). PyJWT verifies (docs/adr/0034); what is asked of the issuer is bounded here.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import structlog

from controller.access.principals import Principal
from controller.config.api import OidcOptions, is_web_address
from controller.config.limits import OidcLimits

if TYPE_CHECKING:
    from jwt import PyJWK

log = structlog.get_logger("saltern.access")

METHOD = "oidc"
_DISCOVERY = "/.well-known/openid-configuration"
_PUBLIC_KINDS = ("RSA", "EC", "OKP")
_LONGEST_NAME = 200


class OidcRefused(Exception):
    """A token is not good; the text says why."""


class OidcTrouble(Exception):
    """The issuer's keys cannot be had; the text says why."""


@dataclass(slots=True, kw_only=True)
class OidcTokens:
    """Tokens of one issuer.

    Args:
        options: which issuer, and which claims.
        limits: of the tokens and of the issuer's answers.
        clock: seconds since the epoch.
    """

    options: OidcOptions
    limits: OidcLimits
    clock: Callable[[], float]
    _keys: dict[str, PyJWK] = field(default_factory=dict)
    _told: float = 0.0
    """When the issuer told them."""
    _asked: float = 0.0
    """When it was asked last."""
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def principal(self, token: str) -> Principal:
        """Whose it is. OidcRefused for one that is not good, OidcTrouble while that cannot be known."""
        if len(token) > self.limits.token_bytes:
            raise OidcRefused(f"the token has over {self.limits.token_bytes} bytes")
        return self._principal(await self._claims(token))

    async def _claims(self, token: str) -> Mapping[str, Any]:
        import jwt  # takes memory that a controller without an issuer need not have

        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise OidcRefused(f"the token cannot be read: {error}") from None
        key = await self._key(str(header.get("kid", "")))
        try:
            found: dict[str, Any] = jwt.decode(
                token,
                key=key,
                algorithms=list(self.options.algorithms),
                audience=list(self.options.audience),
                issuer=self.options.issuer,
                leeway=self.limits.leeway_seconds,
                options={"require": ["exp", "iss", "aud", self.options.user_claim]},
            )
        except (jwt.PyJWTError, ValueError) as error:
            raise OidcRefused(str(error) or type(error).__name__) from None
        return found

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        name = claims.get(self.options.user_claim)
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
            raise OidcRefused(f"the claim {self.options.user_claim} is no name")
        if self.options.user_claim == "email" and claims.get("email_verified") is False:
            raise OidcRefused("the issuer has not verified the e-mail address")
        groups = claims.get(self.options.groups_claim, [])
        listed = [groups] if isinstance(groups, str) else groups
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise OidcRefused(f"the claim {self.options.groups_claim} is no list of names")
        if len(listed) > self.limits.groups:
            raise OidcRefused(f"the token names over {self.limits.groups} groups")
        prefix = self.options.prefix
        return Principal(
            name=prefix + name,
            groups=frozenset(prefix + each for each in listed),
            method=METHOD,
            expires=float(claims["exp"]),
        )

    async def _key(self, kid: str) -> PyJWK:
        """The key of a token; without a name, where the issuer has one alone."""
        if self.clock() - self._told > self.limits.kept_seconds or kid not in self._keys:
            await self._renew(kid)
        if self.clock() - self._told > self.limits.stale_seconds:
            raise OidcTrouble(f"the keys of {self.options.issuer} are not known")
        if not kid and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if kid not in self._keys:
            raise OidcRefused("the token is signed with a key that the issuer does not publish")
        return self._keys[kid]

    async def _renew(self, kid: str) -> None:
        """Ask the issuer for its keys, unless it was asked a moment ago."""
        async with self._asking:
            now = self.clock()
            if now - self._told <= self.limits.kept_seconds and (kid in self._keys or (not kid and self._keys)):
                return
            if now - self._asked < self.limits.refresh_seconds:
                return
            self._asked = now
            try:
                async with asyncio.timeout(self.limits.seconds):
                    self._keys = await self._fetch()
                self._told = now
            except (httpx.HTTPError, httpx.InvalidURL, msgspec.MsgspecError, OidcTrouble, OSError) as error:
                log.warning(
                    "keys of the OIDC issuer not read",
                    issuer=self.options.issuer,
                    error=str(error) or type(error).__name__,
                )

    async def _fetch(self) -> dict[str, PyJWK]:
        import jwt  # as above

        async with self._client() as client:
            about = await self._document(client, self.options.issuer.rstrip("/") + _DISCOVERY)
            if about.get("issuer") != self.options.issuer:
                raise OidcTrouble(f"the discovery document is of {str(about.get('issuer'))[:200]!r}")
            place = about.get("jwks_uri")
            if not isinstance(place, str) or not is_web_address(place):
                raise OidcTrouble("the discovery document has no jwks_uri of HTTPS")
            listed = (await self._document(client, place)).get("keys")
        if not isinstance(listed, list) or len(listed) > self.limits.keys:
            raise OidcTrouble(f"jwks_uri has no list of up to {self.limits.keys} keys")
        found = {}
        for each in listed:
            public = isinstance(each, dict) and each.get("kty") in _PUBLIC_KINDS and each.get("use", "sig") == "sig"
            if public:
                with contextlib.suppress(jwt.PyJWTError):  # of an algorithm that is not known here
                    found[str(each.get("kid", ""))] = jwt.PyJWK(each)
        return found

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Redirects are not followed: an issuer says in its document where things are."""
        ca_file = self.options.ca_file
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file is not None else None)
        async with httpx.AsyncClient(verify=context, timeout=self.limits.seconds, follow_redirects=False) as client:
            yield client

    async def _document(self, client: httpx.AsyncClient, address: str) -> dict[str, Any]:
        content = b""
        async with client.stream("GET", address, headers={"accept": "application/json"}) as response:
            if response.status_code != httpx.codes.OK:
                raise OidcTrouble(f"{address} answers {response.status_code}")
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > self.limits.document_bytes:
                    raise OidcTrouble(f"{address} has over {self.limits.document_bytes} bytes")
        return msgspec.json.decode(content, type=dict[str, Any])
