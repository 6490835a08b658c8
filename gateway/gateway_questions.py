"""What gateways that come behind this one ask it: for whom it speaks, and what minions have asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.admission import Admission
from gateway.minions.minion import StockMinion
from gateway.protocol.between_gateways import GatewaySeal
from gateway.protocol.requests import GatewayRequest
from gateway.protocol.rsa_keys import salt_fingerprint


class GatewayQuestions:
    """Answers them.

    Args:
        admission: knows the minions.
        seal: see `GatewaySeal`.
    """

    def __init__(self, admission: Admission, seal: GatewaySeal) -> None:
        self._admission = admission
        self._seal = seal

    async def answer(self, request: GatewayRequest) -> bytes:
        """The answer, sealed. NotAuthentic, MalformedMessage or NoAnswer."""
        asked = self._seal.opened_question(request.sealed)
        answer: Any = None
        if asked.get("cmd") == "claims":
            wanted = asked.get("wanted")
            answer = self._claims(wanted if isinstance(wanted, dict) else {})
        elif asked.get("cmd") == "ask":
            answer = await self._passed_on(asked)
        return self._seal.answer(answer, str(asked.get("nonce")))

    def _claims(self, wanted: Mapping[str, Any]) -> Mapping[str, str]:
        states = ((minion, self._claimed(minion, key)) for minion, key in wanted.items())
        return {minion: state for minion, state in states if state is not None}

    def _claimed(self, minion_id: str, fingerprint: Any) -> str | None:
        minion = self._with_key(minion_id, fingerprint)
        if minion is not None:
            return minion.claimed()
        waiting = (each for each in self._admission.waiting if each.known.id == minion_id and each.is_here)
        return next((each.state for each in waiting if salt_fingerprint(each.known.key.pem) == fingerprint), None)

    async def _passed_on(self, asked: Mapping[str, Any]) -> Any:
        minion, load = self._with_key(str(asked.get("minion")), asked.get("key")), asked.get("load")
        if minion is None or minion.key_state != "accepted" or not isinstance(load, dict):
            return None
        return {"answer": await minion.answer_passed_on(str(asked.get("of")), load)}

    def _with_key(self, minion_id: str, fingerprint: Any) -> StockMinion | None:
        served = self._admission.served.get(minion_id)
        return served.minion if served is not None and salt_fingerprint(served.known.key.pem) == fingerprint else None
