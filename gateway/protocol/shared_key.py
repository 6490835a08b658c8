"""Secrets by which the gateway talks to minions: the key that all have, by which jobs are published, and one of each.

Whoever has the shared key can read what is published, and could publish; so publications are signed, and nothing that
is secret stands in them. It changes when a minion's key is removed, and on schedule; minions that cannot decrypt what
is published authenticate anew.

Source: `AuthFuncs` in `salt/master.py`; `PubServerChannel.wrap_payload` in `salt/channel/server.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from gateway.protocol.crypticle import Crypticle, new_key
from gateway.protocol.requests import AuthRequest, clear_answer
from gateway.protocol.rsa_keys import SIGNATURES, GatewayKey, MinionKey, PubkeySigner


class SharedKey:
    """The key of publications.

    Args:
        own: signs.
        serial: of the last publication; each has a higher one, so that none is taken twice.
        signer: of `own`, where minions want that.
    """

    def __init__(self, own: GatewayKey, *, serial: int, signer: PubkeySigner | None = None) -> None:
        self._own = own
        self._signer = signer
        self._serial = serial
        self.rotate()

    def rotate(self) -> None:
        """From now on there is another key."""
        self._crypticle = Crypticle(new_key())
        self._signature = self._own.sign_x931(hashlib.sha256(self._crypticle.key.encode()).hexdigest().encode())

    def publication(self, job: Mapping[str, Any]) -> Mapping[str, Any]:
        """A job as minions get it; `marked` packs it."""
        self._serial += 1
        sealed = self._crypticle.seal({**job, "serial": self._serial})
        signing = SIGNATURES[0]
        return {"enc": "aes", "load": sealed, "sig_algo": signing, "sig": self._own.sign(sealed, signing)}

    def welcome(self, request: AuthRequest, key: MinionKey, session: str, publish_port: int) -> bytes:
        """The answer to a minion whose key is accepted. ValueError where its token was not encrypted for this gateway.

        Args:
            request: of the minion.
            key: of the minion.
            session: its session key.
            publish_port: where jobs are published.
        """
        found: dict[str, Any] = {
            "enc": "pub",
            "pub_key": self._own.pem,
            "publish_port": publish_port,
            "aes": key.encrypt(self._crypticle.key.encode(), request.encryption),
            "session": key.encrypt(session.encode(), request.encryption),
            "sig": self._signature,
            "nonce": request.nonce,
        }
        if self._signer is not None:
            found["pub_sig"] = self._signer.signature(self._own.pem, request.signing)
        if request.token:
            try:
                found["token"] = key.encrypt(self._own.decrypt(request.token, request.encryption), request.encryption)
            except ValueError:
                # A minion that knows an earlier key of ours takes this one for its signature.
                if self._signer is None:
                    raise
        return clear_answer(found, self._own, request.signing)
