"""Fingerprints of RSA keys that accepted gateways vouch for. Called by `KeyRequests` for requests that have one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wire.errors import BadKey
from wire.keys import KeyPair
from wire.messages import KeyRequest
from wire.server.types import Identity, is_accepted

if TYPE_CHECKING:
    from wire.salt_keys import VouchingSecret


_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(slots=True, kw_only=True)
class StockKeys:
    """Checks what gateways say.

    Args:
        own: keys of the controller.
        identity: of a public key.
    """

    own: KeyPair
    identity: Callable[[str], Identity | None]
    _secrets: dict[str, VouchingSecret] = field(default_factory=dict)
    """By key of an accepted gateway: strangers add none."""

    def fingerprint_of(self, request: KeyRequest, public: str) -> str:
        """The fingerprint as Salt shows it; empty where nobody vouches for one who may.

        Args:
            request: which came by the key.
            public: this key.
        """
        said = request.salt_key
        if said is None or request.role != "minion":
            return ""
        gateway = self.identity(said.gateway)
        if gateway is None or not is_accepted(gateway) or gateway.role != "gateway":
            return ""
        try:
            vouched = self._secret(said.gateway).is_vouched(said, public, request.id)
        except BadKey:
            return ""
        return bytes.fromhex(said.fingerprint).hex(":") if vouched and _DIGEST.fullmatch(said.fingerprint) else ""

    def _secret(self, gateway: str) -> VouchingSecret:
        found = self._secrets.get(gateway)
        if found is None:
            from wire.salt_keys import VouchingSecret

            found = self._secrets[gateway] = VouchingSecret(self.own, gateway)
        return found
