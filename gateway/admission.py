"""Who is let in: keys that are shown, what the controller says of them, and the minions that are served.

The gateway accepts nobody. A key that is shown waits (`WaitingKeys`) until the controller has accepted it; then its
minion has a place here (`StockMinion`), and loses it when the controller no longer accepts the key.

Anybody can show a key, and an answer costs milliseconds of RSA: how often that may be is bounded for a network and in
all, apart from minions that are accepted.

Source: `AuthFuncs._auth` in `salt/master.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from gateway.gateways_before import LOOK_SECONDS
from gateway.known_minions import KnownMinion, KnownStockMinions
from gateway.limits import GatewayLimits
from gateway.metrics import GatewayMetrics
from gateway.minions.minion import MinionPlace, StockMinion
from gateway.minions.standing import Claim
from gateway.protocol.requests import AuthRequest, RequestRefused, clear_answer
from gateway.protocol.rsa_keys import GatewayKey, MinionKey, salt_fingerprint
from gateway.rates import TokenBuckets
from gateway.waiting_keys import WaitingKey, WaitingKeys
from wire.errors import BadKey
from wire.server.request_rates import RequestRates, network_of

log = logging.getLogger(__name__)

DECISION_SECONDS = 3.0
"""That a minion waits for the controller's word about its key; then it is told to come again."""
GIVES_WAY = 5.0
"""That a minion in shadow waits for its Salt master, each time that it shows its key."""
ANOTHER_START = 120.0
"""Seconds after which it is no more the same try."""
_PENDING = True
_REJECTED = False
_FULL = "full"
"""What Salt says as `ret` of a key that waits, of one that is refused, and where there is no room for it."""


@dataclass(slots=True)
class ServedMinion:
    """A minion and the task that serves it."""

    minion: StockMinion
    known: KnownMinion
    task: asyncio.Task[None]
    came: float = -math.inf
    """When it came last without being let in at once, in shadow."""

    def gives_way(self) -> bool:
        """Whether it is told to come again: in shadow its Salt master shall be there first.

        A salt-minion has one scheduler and one run of `startup_states`, which go by the connection that is made first.
        """
        now = time.monotonic()
        if not self.minion.in_shadow():
            return False
        if now - self.came > ANOTHER_START:
            self.came = now
        if now - self.came < GIVES_WAY:
            return True
        self.came = -math.inf
        return False


class Admission:
    """Lets in.

    Args:
        own: signs answers.
        place: of minions.
        known: those that were accepted before.
        limits: see `GatewayLimits`.
        metrics: counts.
        welcome: makes the answer to a minion that is let in.
    """

    def __init__(
        self,
        own: GatewayKey,
        place: MinionPlace,
        known: KnownStockMinions,
        limits: GatewayLimits,
        metrics: GatewayMetrics,
        welcome: Callable[[AuthRequest, StockMinion], bytes],
    ) -> None:
        self._own = own
        self._place = place
        self._known = known
        self._limits = limits
        self._metrics = metrics
        self._welcome_answer = welcome
        self.served: dict[str, ServedMinion] = {}
        """By id."""
        self.waiting = WaitingKeys(place.side, limits)
        self._strangers = RequestRates(limits.stranger)
        self._comings = TokenBuckets(rate=1.0, burst=limits.minion_authentications)
        self._told = TokenBuckets(rate=limits.stranger.logged_refusals / 60, burst=limits.stranger.logged_refusals)
        self._may_welcome = 0.0
        self._keeping: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By id that was accepted, while it is kept."""
        self._look = asyncio.Event()
        """Set: for whom other gateways speak is to be asked at once."""

    def begin(self) -> None:
        """Serve those that were accepted before."""
        for known in self._known.all():
            self._serve(known)

    def accepted(self, minion_id: str) -> StockMinion | None:
        """The minion of this id whose key is accepted."""
        served = self.served.get(minion_id)
        return served.minion if served is not None and served.minion.key_state == "accepted" else None

    def count_accepted(self) -> int:
        """How many there are. From any thread."""
        return len(self.served)

    async def authenticate(self, request: AuthRequest, address: str) -> bytes:
        """The answer to a minion that shows its key. RequestRefused."""
        network, now = network_of(address), time.monotonic()
        served = self.served.get(request.id)
        if served is not None and served.known.key.has_pem(request.pub):
            if not self._comings.take((request.id, network), now):
                raise RequestRefused("its key is shown too often", limit="minion-authentications")
            return await self._answer_served(request, served, address)
        limit = self._strangers.refuse(address, float("-inf"), now)
        if limit is not None:
            raise RequestRefused("too many keys are shown", limit=limit)
        return await self._answer_stranger(request, network, address)

    async def take_back(self) -> None:
        """Take the places of minions whose keys are no longer accepted."""
        for served in [each for each in self.served.values() if each.minion.key_state in ("pending", "rejected")]:
            await self._forget(served)

    # --- other gateways

    def is_away(self, minion_id: str) -> bool:
        """Whether nothing is known of its key, since it has left and there are other gateways."""
        served = self.served.get(minion_id)
        return self._place.decide is not None and served is not None and not served.minion.key_state

    def decide_soon(self, minion: StockMinion) -> None:
        """A minion is there for which this gateway does not speak: it does where none comes before it."""
        if self._place.before is not None:
            self._look.set()
        else:
            minion.decide(None)

    async def look_before(self) -> None:
        """Ask the gateways that come before for whom they speak, now and then, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._look.wait()
            self._look.clear()
            here = [each.minion for each in self.served.values() if each.minion.is_here]
            if self._place.before is not None and here:
                claims = await self._place.before.claims({each.id: salt_fingerprint(each.key.pem) for each in here})
                for minion in here:
                    minion.decide(claims.get(minion.id))
                await asyncio.sleep(LOOK_SECONDS / 10)

    async def _claim(self, minion_id: str, pem: str) -> Claim | None:
        """Of a gateway that comes before this one, and speaks for the minion."""
        if self._place.before is None:
            return None
        return (await self._place.before.claims({minion_id: salt_fingerprint(pem)})).get(minion_id)

    def tasks(self) -> list[asyncio.Task[None]]:
        """All of them, to be cancelled at the end."""
        return [*(each.task for each in self.served.values()), *(each.task for each in self.waiting)]

    # --- one that is known

    async def _answer_served(self, request: AuthRequest, served: ServedMinion, address: str) -> bytes:
        served.minion.shown()
        served.minion.decide(await self._claim(request.id, served.known.key.pem))
        state = await served.minion.known_key_state(DECISION_SECONDS)
        self._metrics.key_shown(state if state in ("accepted", "rejected") else "pending")
        log.debug("event=authentication minion=%s state=%s", request.id, state)
        if state != "accepted" or served.gives_way():
            return self._said(request, _REJECTED if state == "rejected" else _PENDING)
        await self._await_turn()
        served.minion.let_in(address)
        return self._welcome_answer(request, served.minion)

    async def _await_turn(self) -> None:
        """Let in no more at once than the processor has time for."""
        now = time.monotonic()
        turn = max(now, self._may_welcome + 1 / self._limits.authentications_a_second)
        if turn - now > self._limits.authentication_seconds:
            raise RequestRefused("too many minions come at once", limit="authentications-a-second")
        self._may_welcome = turn
        await asyncio.sleep(turn - now)

    # --- one that is not

    async def _answer_stranger(self, request: AuthRequest, network: str, address: str) -> bytes:
        try:
            key = MinionKey(request.pub)
        except BadKey as error:
            raise RequestRefused(str(error)) from error
        waiting = self.waiting.get(request.id, key.pem)
        if (claim := await self._claim(request.id, key.pem)) is not None:
            return await self._answer_claimed(request, key, claim, waiting, address)
        waiting = waiting or await self._show(request.id, key, network, address)
        if waiting is None:
            self._metrics.key_shown("full")
            return self._said(request, _FULL)
        state = await waiting.decided(request.autosign_grains, DECISION_SECONDS)
        if state == "accepted":
            return await self._answer_served(request, await self._accept(waiting), address)
        served = self.served.get(request.id)
        taken = served is not None and served.minion.key_state in ("accepted", "")
        denied = taken or self.waiting.is_denied(waiting)
        self._metrics.key_shown("denied" if denied else "rejected" if state == "rejected" else "pending")
        return self._said(request, _REJECTED if denied or state == "rejected" else _PENDING)

    async def _answer_claimed(
        self, request: AuthRequest, key: MinionKey, claim: Claim, waiting: WaitingKey | None, address: str
    ) -> bytes:
        """The answer to a stranger here whom another gateway has shown to the controller."""
        if waiting is not None:
            await self.waiting.remove(waiting)
        if claim.state != "accepted":
            return self._said(request, _REJECTED if claim.state == "rejected" else _PENDING)
        before = self.served.get(request.id)
        if before is not None:
            await self._forget(before)
        known = self._known.new(request.id, key, self._place.side.minion_keys(request.id, key.pem))
        return await self._answer_served(request, await self.serve_from_now(known), address)

    async def _show(self, minion_id: str, key: MinionKey, network: str, address: str) -> WaitingKey | None:
        """Show a key to the controller; None: there is no room for it."""
        known = self._known.new(minion_id, key, self._place.side.minion_keys(minion_id, key.pem))
        waiting = await self.waiting.add(known, network)
        event = "key_shown" if waiting is not None else "key_not_shown"
        if self._told.take(event, time.monotonic()):
            log.info(
                "event=%s minion=%s address=%s fingerprint=%s", event, minion_id, address, salt_fingerprint(key.pem)
            )
        return waiting

    async def _accept(self, waiting: WaitingKey) -> ServedMinion:
        """Give the minion its place; of the one that had its id before nothing is left."""
        before = self.served.get(waiting.known.id)
        if before is not None and before.known.key.pem != waiting.known.key.pem:
            await self._forget(before)
        await self.waiting.remove(waiting)
        return await self.serve_from_now(waiting.known)

    async def serve_from_now(self, known: KnownMinion) -> ServedMinion:
        """Its place, which it has already where it has asked twice at once. None waits for the disk under another."""
        lock = self._keeping.setdefault(known.id, asyncio.Lock())
        async with lock:
            served = self.served.get(known.id)
            if served is not None and served.known.key.pem == known.key.pem:
                return served
            await asyncio.to_thread(self._known.keep, known)
            return self._serve(known)

    def _serve(self, known: KnownMinion) -> ServedMinion:
        minion = StockMinion(known, self._place)
        task = asyncio.get_running_loop().create_task(minion.serve())
        served = self.served[known.id] = ServedMinion(minion=minion, known=known, task=task)
        return served

    async def _forget(self, served: ServedMinion) -> None:
        log.info("event=minion_taken_out minion=%s state=%s", served.known.id, served.minion.key_state)
        if self.served.get(served.known.id) is served:
            del self.served[served.known.id]
        served.task.cancel()
        await asyncio.gather(served.task, return_exceptions=True)
        self._known.forget(served.known)
        await asyncio.to_thread(shutil.rmtree, self._place.folder / served.known.id, ignore_errors=True)

    def _said(self, request: AuthRequest, state: bool | str) -> bytes:
        return clear_answer({"ret": state, "nonce": request.nonce}, self._own, request.signing)
