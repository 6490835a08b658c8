"""Salt's option `vault`: where the vault is, and who we are there. `controller.adapters.secrets` has its client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class BadVault(ValueError):
    """The option `vault` cannot be used; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    """Where the vault is, and who we are there."""

    url: str
    token: str = ""
    role_id: str = ""
    secret_id: str = ""
    approle_mount: str = "approle"
    namespace: str | None = None
    verify: bool | str = True
    timeout: float = 10.0
    """Seconds for one request."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> VaultSettings:
        """Salt's `vault: {server: {url, namespace, verify}, auth: {method, token, role_id, secret_id, ...}}`."""
        server, auth = given.get("server") or {}, given.get("auth") or {}
        url = server.get("url") or given.get("url")
        method = auth.get("method", "token")
        if not isinstance(url, str) or not url:
            raise BadVault("vault needs server: {url: https://...}")
        if method not in ("token", "approle"):
            raise BadVault(f"vault knows the methods token and approle, not {method!r}")
        needed = "token" if method == "token" else "role_id"
        if not auth.get(needed):
            raise BadVault(f"vault needs auth: {{{needed}: ...}} for the method {method}")
        return cls(
            url=url,
            token=str(auth.get("token") or "") if method == "token" else "",
            role_id=str(auth.get("role_id") or "") if method == "approle" else "",
            secret_id=str(auth.get("secret_id") or ""),
            approle_mount=str(auth.get("approle_mount") or "approle"),
            namespace=server.get("namespace"),
            verify=server.get("verify", True),
        )
