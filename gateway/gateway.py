"""A gateway: what its minions ask (`Admission` says who is one), and what is published to them."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import zmq

from gateway.admission import Admission
from gateway.controller_watch import ControllerWatch
from gateway.controllers import ControllerPlaces
from gateway.gateway_questions import GatewayQuestions
from gateway.gateways_before import GatewaysBefore
from gateway.known_minions import KnownStockMinions
from gateway.limits import GatewayLimits
from gateway.metrics import GatewayMetrics, MinionSeen
from gateway.minions.files import KeptContents
from gateway.minions.link import ControllerSide, StockLink, take_nothing
from gateway.minions.minion import MinionPlace, StockMinion
from gateway.minions.questions import NoAnswer
from gateway.own_key import OwnKey
from gateway.ports import GatewayAnswer, PortRequest, SaltPorts
from gateway.protocol.between_gateways import GatewaySeal
from gateway.protocol.crypticle import NotAuthentic
from gateway.protocol.requests import (
    BAD_LOAD,
    AuthRequest,
    GatewayRequest,
    MinionRequest,
    RequestRefused,
    SealedRequest,
    open_request,
    private_answer,
    read_request,
    sealed_answer,
)
from gateway.protocol.rsa_keys import GatewayKey, PubkeySigner
from gateway.protocol.shared_key import SharedKey
from gateway.publications import Publications
from gateway.rates import TokenBuckets
from gateway.replays import SaidBefore
from gateway.settings import CONTROLLER_FILE
from minion.agent.controllers.controller_keys import ControllerKeys
from wire.errors import MalformedMessage
from wire.messages import KeepAlive

log = logging.getLogger(__name__)

_OTHER_MASTER = (
    "it knows another master's key: remove minion_master.pub from its pki_dir, or give the gateway "
    "that master's master.pem"
)
_GREETING = {"tgt": [], "tgt_type": "list", "jid": "0" * 20, "fun": "test.ping", "arg": [], "ret": ""}
"""A job for nobody."""
CHANGES_SECONDS = 0.1
"""From a connection that comes or ends until minions of its address are looked at, with all that change meanwhile."""
AWAY_SECONDS = 600.0
"""Until the key of publications changes while minions that had it have left: with several gateways nothing is known of
the keys of these."""
MOST_SOCKETS = 65_535
"""That libzmq lets a context have; each minion takes four of the connection to the controller, and ones that are closed
count until libzmq has come to them. Without it there are 1,023."""
_LARGE = 64 * 1024
"""Bytes of a request that is opened beside the event loop."""


class Gateway:
    """The gateway. Made in its event loop; raises BadKey.

    Args:
        own: its key.
        ports: see `SaltPorts`.
        places: of the controllers.
        gateway_id: its id, for the controller.
        config_file: for whoever reads the log.
        cachedir: of what is kept of minions.
        pki_dir: of their keys.
        limits: see `GatewayLimits`.
        session_seconds: until the key of publications, and the session keys of minions, change.
        signer: of `own`; see `PubkeySigner`.
        metrics_file: where metrics are written; None: nowhere.
        shadow: see `MinionPlace`.
        before: host and port of the gateways that come before this one; None: there is no other at all.
    """

    def __init__(
        self,
        own: GatewayKey,
        ports: SaltPorts,
        places: ControllerPlaces,
        *,
        gateway_id: str,
        config_file: Path,
        cachedir: Path,
        pki_dir: Path,
        limits: GatewayLimits,
        session_seconds: float,
        signer: PubkeySigner | None = None,
        metrics_file: Path | None = None,
        shadow: bool = False,
        before: Sequence[tuple[str, int]] | None = None,
    ) -> None:
        self._own = own
        self._ports = ports
        ports.jobs.changed = self._connection_changed
        self._limits = limits
        self._session_seconds = session_seconds
        self._shared = SharedKey(own, serial=int(time.time()), signer=signer)
        side = controller_side(places, pki_dir, gateway_id, None if before is None else own)
        self._context = side.context
        self._before = GatewaysBefore(before or (), GatewaySeal(own, limits.minion))
        self._alone = before is None
        place = MinionPlace(
            folder=cachedir / "minions",
            side=side,
            contents=KeptContents(),
            publications=Publications(self._publish, lambda: datetime.datetime.now(datetime.UTC)),
            listens_at=ports.jobs.listens,
            shadow=shadow,
            session_seconds=session_seconds,
            before=self._before if self._before else None,
            decide=None if before is None else lambda minion: self._admission.decide_soon(minion),
        )
        self._watch = ControllerWatch(side.own, places, side.keys, config_file, cachedir / CONTROLLER_FILE)
        self._link = _link_of_its_own(side, self._watch)
        self._metrics = GatewayMetrics(metrics_file, self._seen, places)
        known = KnownStockMinions(pki_dir / "minions")
        self._admission = Admission(own, place, known, limits, self._metrics, self._welcome)
        self._changed: dict[str, bool] = {}
        """Addresses of which connections have come (True) or ended since they were looked at."""
        self._questions = GatewayQuestions(self._admission, GatewaySeal(own, limits.minion))
        self._open: Counter[str] = Counter()
        self._large: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By minion that was accepted."""
        self._of_strangers = asyncio.Lock()
        self._said: defaultdict[str, SaidBefore] = defaultdict(SaidBefore)
        self._computing = TokenBuckets(rate=limits.minion_share, burst=limits.minion_burst_seconds)
        self._told = TokenBuckets(rate=limits.stranger.logged_refusals / 60, burst=limits.stranger.logged_refusals)
        self._welcomed: dict[str, StockMinion] = {}
        """Minions that have the key of publications."""
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """End `run`. Safe to call from a signal handler of the loop."""
        self._stopped.set()

    async def run(self) -> None:
        """Serve until `stop`."""
        self._admission.begin()
        serving = self._ports.serve(
            self.answer, expected=self._admission.count_accepted, on_refusal=self._metrics.limited
        )
        lasting = [
            asyncio.ensure_future(each)
            for each in (
                serving,
                self._rotate_now_and_then(),
                self._metrics.write_now_and_then(),
                self._link.serve(),
                self._admission.look_before(),
                self._stopped.wait(),
            )
        ]
        try:
            done, _ = await asyncio.wait(lasting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            tasks = [*lasting, *self._admission.tasks()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._watch.close()
            self._ports.close()
            self._before.close()
            self._context.term()

    # --- requests

    async def answer(self, asked: PortRequest) -> GatewayAnswer:
        """The answer to what came on the port."""
        try:
            request = read_request(asked.data)
            if isinstance(request, AuthRequest):
                if len(asked.data) > self._limits.stranger_bytes:
                    raise RequestRefused(f"a key of {len(asked.data)} bytes", limit="stranger-bytes")
                return GatewayAnswer(await self._admission.authenticate(request, asked.address))
            if isinstance(request, GatewayRequest):
                if self._alone:
                    raise RequestRefused("a question of a gateway: `gateways` names none")
                return GatewayAnswer(await self._questions.answer(request), proved=True)
            return await self._answer_minion(request, asked)
        except NotAuthentic:
            self._metrics.refused("not-authentic")
            log.debug("event=request_not_authentic address=%s", asked.address)
            # Its session key is an earlier gateway's, or a day old: it authenticates anew.
            return GatewayAnswer(BAD_LOAD, refused=True)
        except MalformedMessage as error:
            self._metrics.refused("malformed")
            if limit := getattr(error, "limit", ""):
                self._metrics.limited(limit)
            self._tell("request_refused", asked.address, error)
            return GatewayAnswer(BAD_LOAD, refused=True)
        except NoAnswer as error:
            self._metrics.refused("no-answer")
            self._tell("request_not_answered", asked.address, error)
            return GatewayAnswer(BAD_LOAD)

    def _tell(self, event: str, address: str, why: Exception) -> None:
        """Say it in the log, not as often as strangers like."""
        if self._told.take(event, time.monotonic()):
            log.warning("event=%s address=%s why=%s", event, address, why)

    async def _answer_minion(self, sealed: SealedRequest, asked: PortRequest) -> GatewayAnswer:
        minion = self._admission.accepted(sealed.id)
        if minion is None:
            return GatewayAnswer(BAD_LOAD, refused=True)
        opening = partial(open_request, sealed, minion.session, minion.key, self._limits.minion, time.time())
        if len(sealed.sealed) < _LARGE:
            with self._counted(minion.id):
                request = opening()
            return await self._answer_request(request, minion, asked.address)
        # Its values take many times its bytes: one at a time of a minion, and of all whose connections proved nothing.
        async with self._large[minion.id] if asked.proved else self._of_strangers:
            with self._counted(minion.id):
                request = await asyncio.to_thread(opening)
            return await self._answer_request(request, minion, asked.address)

    @contextlib.contextmanager
    def _counted(self, minion_id: str) -> Iterator[None]:
        """Computing for a minion, unless it turns out to be somebody else's request."""
        began = time.monotonic()
        yield
        self._computing.spend(minion_id, time.monotonic() - began, began)

    async def _answer_request(self, request: MinionRequest, minion: StockMinion, address: str) -> GatewayAnswer:
        if self._open[minion.id] >= self._limits.minion_requests:
            raise RequestRefused(
                f"more than {self._limits.minion_requests} requests of {minion.id} at once", limit="minion-requests"
            )
        self._said[minion.id].check(request, time.monotonic())
        self._open[minion.id] += 1
        log.debug("event=request minion=%s command=%s open=%s", minion.id, request.cmd, self._open[minion.id])
        try:
            if (pause := self._computing.wait(minion.id, time.monotonic())) > 0:
                self._metrics.limited("minion-share")
                await asyncio.sleep(pause)
            began = time.monotonic()
            value = await minion.answer(request.cmd, request.load, address)
            self._metrics.answered(minion.command_name(request.cmd), time.monotonic() - began)
        finally:
            self._open[minion.id] -= 1
        with self._counted(minion.id):
            data = self._sealed(request, value, minion)
        return GatewayAnswer(data, proved=True)

    def _sealed(self, request: MinionRequest, value: Any, minion: StockMinion) -> bytes:
        if request.cmd == "_pillar":
            return private_answer("pillar", value, minion.key, self._own, request)
        return sealed_answer(value, minion.session, request.nonce)

    def _welcome(self, request: AuthRequest, minion: StockMinion) -> bytes:
        """The answer to a minion that is let in. RequestRefused."""
        self._welcomed[minion.id] = minion
        try:
            return self._shared.welcome(request, minion.key, minion.session.key, self._ports.jobs.port)
        except ValueError as error:
            if self._told.take("token_refused", time.monotonic()):
                log.warning("event=token_refused minion=%s why=%s", request.id, _OTHER_MASTER)
            raise RequestRefused("a token for another master's key") from error

    # --- publications

    def _publish(self, minions: Mapping[str, str], job: Mapping[str, Any]) -> None:
        self._metrics.published()
        self._ports.jobs.publish(minions, self._shared.publication(job))

    def _connection_changed(self, address: str, came: bool) -> None:
        """Have minions of an address looked at, soon and once: outsiders choose how often connections come and go."""
        if not self._changed:
            asyncio.get_running_loop().call_later(CHANGES_SECONDS, self._look_at_changed)
        self._changed[address] = came and self._changed.get(address, True)

    def _look_at_changed(self) -> None:
        changed, self._changed = self._changed, {}
        self._ports.jobs.greet(lambda: self._shared.publication(_GREETING))
        none_ended = all(changed.values())
        for served in self._admission.served.values():
            presence = served.minion.presence
            if not (address := presence.expected_at):
                presence.connection_changed(none_ended)
            elif address in changed:
                presence.connection_changed(changed[address])

    async def _rotate_now_and_then(self) -> None:
        """Change the key of publications on schedule, and once a minion that had it has lost its own."""
        rotated = time.monotonic()
        while True:
            await asyncio.sleep(1)
            await self._admission.take_back()
            lost = {name: each for name, each in self._welcomed.items() if self._admission.accepted(name) is None}
            away = {name for name in lost if self._admission.is_away(name)}
            seconds = min(AWAY_SECONDS, self._session_seconds) if away else self._session_seconds
            if len(away) < len(lost) or time.monotonic() - rotated > seconds:
                log.info("event=publication_key_changed without=%s", ",".join(sorted(lost)[:10]))
                self._shared.rotate()
                self._welcomed.clear()
                for minion in lost.values():
                    minion.jobs.tell("test.ping")  # what it cannot read: it shows its key again
                rotated = time.monotonic()

    def _seen(self) -> list[MinionSeen]:
        minions = [each.minion for each in self._admission.served.values()]
        found = [MinionSeen(each.key_state, each.online, each.jobs.listens.is_set()) for each in minions]
        return found + [MinionSeen(each.state, online=False, listens=False) for each in self._admission.waiting]


def controller_side(
    places: ControllerPlaces, pki_dir: Path, gateway_id: str, shared: GatewayKey | None
) -> ControllerSide:
    """What the connections to the controller have in common: one of each minion, and one of the gateway itself."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, MOST_SOCKETS)
    return ControllerSide(
        places=places,
        context=context,
        keys=ControllerKeys(pki_dir / "controller", pki_dir, places.address.controller_key),
        own=OwnKey(pki_dir, gateway_id),
        shared=shared,
    )


def _link_of_its_own(side: ControllerSide, watch: ControllerWatch) -> StockLink:
    """By which the gateway shows its key, and vouches for those of minions."""
    return StockLink(
        side.own.name,
        side,
        side.own.keys,
        key_request=side.own.key_request,
        hello=lambda: None,
        keep_alive=lambda: KeepAlive(),
        take=take_nothing,
        heard=watch.take,
    )
