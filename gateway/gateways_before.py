"""Gateways that come before this one in `gateways`: for whom they speak, and what this one passes on to them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

import zmq
import zmq.asyncio

from gateway.minions.questions import NoAnswer
from gateway.minions.standing import Claim
from gateway.protocol.between_gateways import GatewaySeal
from wire.address import endpoint
from wire.errors import MalformedMessage

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
"""Between two questions to a gateway: for which minions it speaks."""
ANSWER_SECONDS = 1.5
"""Time for that answer. A gateway that does not answer speaks for no minion."""
PASSED_SECONDS = 70.0
"""Time for the answer to a request that was passed on: as long as a gateway may take for its own."""
_MOST_IDLE = 8
_STATES = ("accepted", "pending", "rejected", "")


class GatewaysBefore:
    """The gateways that come before this one in `gateways`: for whom they speak, and what is passed on to them.

    Args:
        places: host and port of requests of each, in their order.
        seal: see `GatewaySeal`.
    """

    def __init__(self, places: Sequence[tuple[str, int]], seal: GatewaySeal) -> None:
        self._addresses = [endpoint(host, port) for host, port in places]
        self._seal = seal
        self._context = zmq.asyncio.Context()
        self._idle: dict[int, list[zmq.asyncio.Socket]] = {}
        self._away = [False] * len(places)
        self._looked = [-float("inf")] * len(places)

    def __bool__(self) -> bool:
        return bool(self._addresses)

    def close(self) -> None:
        """Let go of the connections."""
        self._context.destroy(linger=0)

    async def claims(self, wanted: Mapping[str, str]) -> Mapping[str, Claim]:
        """For which of these minions one of them speaks: the first that does.

        Args:
            wanted: minion -> fingerprint of its key.
        """
        found: dict[str, Claim] = {}
        for place in range(len(self._addresses)):
            left = {minion: key for minion, key in wanted.items() if minion not in found}
            if left:
                found |= await self._claims_of(place, left)
        return found

    async def ask(self, claim: Claim, minion: str, key: str, cmd: str, load: Mapping[str, Any]) -> Any:
        """The answer of the gateway that speaks for a minion. NoAnswer."""
        asked = {"cmd": "ask", "minion": minion, "key": key, "of": cmd, "load": dict(load)}
        try:
            answer = await self._said(claim.gateway, asked, PASSED_SECONDS)
        except (TimeoutError, zmq.ZMQError, MalformedMessage) as error:
            raise NoAnswer("the gateway that speaks for the minion does not answer") from error
        if not isinstance(answer, dict) or "answer" not in answer:
            raise NoAnswer("the gateway that spoke for the minion does so no more")
        return answer["answer"]

    async def _claims_of(self, place: int, wanted: Mapping[str, str]) -> dict[str, Claim]:
        now = time.monotonic()
        if self._away[place] and now - self._looked[place] < LOOK_SECONDS / 2:
            return {}  # not each minion that comes waits for one that is gone
        self._looked[place] = now
        try:
            answer = await self._said(place, {"cmd": "claims", "wanted": dict(wanted)}, ANSWER_SECONDS)
        except (TimeoutError, zmq.ZMQError, MalformedMessage) as error:
            self._note(place, away=True, why=str(error) or "no answer")
            return {}
        self._note(place, away=False)
        claims = answer if isinstance(answer, dict) else {}
        return {
            minion: Claim(gateway=place, state=state)
            for minion, state in claims.items()
            if minion in wanted and state in _STATES
        }

    def _note(self, place: int, *, away: bool, why: str = "") -> None:
        if self._away[place] is not away:
            self._away[place] = away
            log.warning("event=gateway_%s gateway=%s why=%s", "gone" if away else "back", self._addresses[place], why)

    async def _said(self, place: int, asked: Mapping[str, Any], seconds: float) -> Any:
        frame, nonce = self._seal.question(asked)
        idle = self._idle.setdefault(place, [])
        request = idle.pop() if idle else self._connection(place)
        try:
            async with asyncio.timeout(seconds):
                await request.send(frame)
                answer = await request.recv()
        except BaseException:
            request.close(linger=0)
            raise
        if len(idle) < _MOST_IDLE:
            idle.append(request)
        else:
            request.close(linger=0)
        return self._seal.opened_answer(answer, nonce)

    def _connection(self, place: int) -> zmq.asyncio.Socket:
        request = self._context.socket(zmq.REQ)
        request.set(zmq.LINGER, 0)
        request.set(zmq.IPV6, int("[" in self._addresses[place]))
        request.connect(self._addresses[place])
        return request
