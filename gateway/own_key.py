"""What this gateway is for the controller: a key of its own, by which it vouches for the RSA keys of salt-minions.

A person compares the fingerprint that Salt shows on a minion with what `saltern key` shows, so the controller must not
take it from anybody: it does from a gateway whose own key is accepted (`wire.salt_keys`).
"""

from __future__ import annotations

from pathlib import Path

import zmq
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from zmq.utils import z85

from gateway.protocol.rsa_keys import salt_fingerprint
from wire.keys import KeyPair, load_or_create
from wire.messages import KeyRequest, SaltKey
from wire.salt_keys import VouchingSecret

_MINION_KEYS = "saltern key of a stock minion 1\0"


class OwnKey:
    """The gateway's key for the controller. Raises BadKey.

    Args:
        pki_dir: holds `gateway.key`, which is made where there is none.
        name: of the gateway.
    """

    def __init__(self, pki_dir: Path, name: str) -> None:
        self.keys: KeyPair = load_or_create(pki_dir / "gateway.key")
        self.name = name
        self._secrets: dict[str, VouchingSecret] = {}

    def vouch(self, controller_key: str, public: str, minion_id: str, pem: str) -> SaltKey:
        """What the controller of this key is told of a minion.

        Args:
            controller_key: in Z85.
            public: by which the minion asks there.
            minion_id: for which it asks.
            pem: the RSA key that it has shown here.
        """
        secret = self._secrets.get(controller_key)
        if secret is None:
            secret = self._secrets[controller_key] = VouchingSecret(self.keys, controller_key)
        return secret.vouch(self.keys.public, public, minion_id, salt_fingerprint(pem).replace(":", ""))

    def minion_keys(self, minion_id: str, pem: str) -> KeyPair:
        """By which the controller is to know this minion with this key: the same ones always.

        They are made of the gateway's secret, so that nothing has to be kept of keys that wait or were rejected.
        """
        derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"{_MINION_KEYS}{minion_id}\0{pem}".encode())
        secret = z85.encode(derivation.derive(z85.decode(self.keys.secret.encode("ascii"))))
        return KeyPair(public=zmq.curve_public(secret).decode("ascii"), secret=secret.decode("ascii"))

    def key_request(self, _accepted: bool) -> KeyRequest:
        """How the gateway asks to be accepted."""
        return KeyRequest(id=self.name, role="gateway")
