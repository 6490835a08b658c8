"""What gateways of one fleet say to each other, on the port of requests: sealed by a key made of `master.pem`.

    {enc: gateway, load: <sealed {cmd, nonce, ts, ...}>, version: 3}    and the answer    <sealed {nonce, value}>

A question counts once, and for a short while: who records one and says it again gets no answer.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Mapping
from typing import Any

from gateway.protocol.crypticle import Crypticle
from gateway.protocol.packing import pack
from gateway.protocol.requests import GATEWAY, VERSION, RequestRefused
from gateway.protocol.rsa_keys import GatewayKey
from wire.limits import MinionLimits

MOST_AGE = 30.0
"""Seconds that a question may be old, by both clocks."""
_MOST_KNOWN = 200_000


class GatewaySeal:
    """Seals and opens what gateways say.

    Args:
        own: the key that they share.
        limits: of what is opened.
    """

    def __init__(self, own: GatewayKey, limits: MinionLimits) -> None:
        raw = own.derived(b"between gateways 1") + own.derived(b"between gateways 2")
        self._seal = Crypticle(base64.b64encode(raw[:56]).decode("ascii"))
        self._limits = limits
        self._known: dict[str, float] = {}

    def question(self, asked: Mapping[str, Any]) -> tuple[bytes, str]:
        """A question as it is sent, and its nonce."""
        nonce = secrets.token_hex(16)
        load = self._seal.seal({**asked, "nonce": nonce, "ts": int(time.time())})
        return pack({"enc": GATEWAY, "version": VERSION, "load": load}), nonce

    def opened_question(self, sealed: bytes) -> Mapping[str, Any]:
        """A question. NotAuthentic, RequestRefused or MalformedMessage."""
        asked, now = self._seal.open(sealed, self._limits), time.time()
        if not isinstance(asked, dict):
            raise RequestRefused("no mapping of a gateway")
        nonce, at = str(asked.get("nonce")), asked.get("ts")
        if not isinstance(at, int) or abs(now - at) > MOST_AGE:
            raise RequestRefused(f"a gateway's question of another time: compare the clocks (its says {at!r})")
        self._forget_before(now - 2 * MOST_AGE)
        if nonce in self._known or len(self._known) >= _MOST_KNOWN:
            raise RequestRefused("a gateway's question that comes again")
        self._known[nonce] = now
        return asked

    def answer(self, value: Any, nonce: str) -> bytes:
        """The answer to the question with this nonce."""
        return self._seal.seal({"nonce": nonce, "value": value})

    def opened_answer(self, sealed: bytes, nonce: str) -> Any:
        """An answer. NotAuthentic, RequestRefused or MalformedMessage."""
        found = self._seal.open(sealed, self._limits)
        if not isinstance(found, dict) or found.get("nonce") != nonce:
            raise RequestRefused("an answer to another question")
        return found.get("value")

    def _forget_before(self, at: float) -> None:
        while self._known and next(iter(self._known.values())) < at:
            del self._known[next(iter(self._known))]
