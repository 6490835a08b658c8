"""One simulated minion: what it says to what it hears. Owns no socket and reads no clock.

Called by `minion.swarm.fleet` with what came by its connection; what it wants to say goes to the port `send`. The
session with the controller is the agent's own (`minion.agent.controllers.session`). As on a real minion a result is
said again until it is acknowledged; unlike there, nothing survives the process, and no function does anything.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from minion.agent.controllers.session import AgentSession, SessionPorts, SessionState
from minion.spool.outbox import LONGEST_AGAIN, SEND_AGAIN_AFTER
from minion.swarm.answers import call_result, run_result
from minion.swarm.documents import HeldDocuments
from wire.client import Connected, ConnectionEvent, DialFailed, Disconnected, HandshakeFailed
from wire.errors import PatchMismatch
from wire.keys import KeyPair, fingerprint
from wire.messages import (
    CHECKS_CALLS,
    CHECKS_RUNS,
    SETS_INTERVAL,
    STATES_OF_CALL,
    AliveInterval,
    Call,
    CheckCalls,
    DesiredUpdate,
    FactAnswer,
    FactAnswers,
    FactRequest,
    Heartbeat,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    Preview,
    Refused,
    ResultAck,
    ResultRefused,
    ResyncRequired,
    Run,
    RunResult,
    RunStarted,
    ToController,
    ToMinion,
)

AGENT = "saltern swarm"
"""What it says to be."""


LONGEST_SLEEP = 86400.0
"""Seconds of `test.sleep`; longer ones end at once."""

_ENCODER = msgspec.msgpack.Encoder()
NEVER_CAME = "this call never came here"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberIdentity:
    """Who a member is."""

    id: str
    keys: KeyPair
    grains: Mapping[str, Any] = field(default_factory=dict)
    """Of its own, over those that all have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmBehaviour:
    """What all members have in common."""

    grains: Mapping[str, Any] = field(default_factory=dict)
    """Beside `id` and `simulated`."""
    token: str = ""
    """An enrolment token."""
    autosign_grains: Mapping[str, str] = field(default_factory=dict)
    """By which the controller may accept the keys."""
    fail_percent: float = 0.0
    """Of calls and runs that fail."""
    delay: float = 0.0
    """Seconds until a result is said."""


class SwarmMember:
    """A simulated minion.

    Args:
        identity: its id and key.
        behaviour: see `SwarmBehaviour`.
        documents: where what it holds is kept.
        counts: is counted up: `calls`, `runs`, `checks` (for drift), `previews`, `documents` and `document-bytes` (of
            the messages that bring them), `refused`, `pending`, `rejected`, `reconnections`, `lost`,
            `handshakes-failed`, `dials-failed`.
        send: takes a message; False when it is not taken.
        chance: a number from 0 up to 1, drawn anew at each call.
        session: says which start of the process this is.
    """

    def __init__(
        self,
        identity: MemberIdentity,
        behaviour: SwarmBehaviour,
        documents: HeldDocuments,
        counts: Counter[str],
        *,
        send: Callable[[ToController], bool],
        chance: Callable[[], float],
        session: str,
    ) -> None:
        self.id = identity.id
        self._own_grains = identity.grains
        self._behaviour = behaviour
        self._documents = documents
        self._counts = counts
        self._send = send
        self._chance = chance
        self._name = session
        self._held = ""
        self._generation = 0
        self._applied = ""
        """Digest of the document that was run last."""
        self._drift: Mapping[str, Any] = {}
        """Of the document: when it is checked."""
        self._drift_at = float("inf")
        self._was_connected = False
        self._waiting: list[tuple[float, str, Callable[[], RunResult]]] = []
        """Results that are made later: when, run id, how."""
        self._results: dict[str, tuple[float, RunResult]] = {}
        """Results that are not acknowledged, and when each is said again."""
        self._waits: dict[str, float] = {}
        """Run id -> seconds until its result is said again, as on a minion (`minion.spool.outbox`)."""
        ports = SessionPorts(send=send, key_request=self._key_request, hello=self._hello, keep_alive=self._keep_alive)
        self._session = AgentSession(identity.id, fingerprint(identity.keys.public), ports)
        self.key_state = ""
        """As the controller has said it last."""

    @property
    def online(self) -> bool:
        """Whether the controller has acknowledged the Hello on this connection."""
        return self._session.online

    @property
    def due_at(self) -> float:
        """When `tick` has something to do, by the clock of `take`."""
        due = min(self._session.deadline, self._drift_at)
        if self._waiting:
            due = min(due, self._waiting[0][0])
        if self._results and self.online:
            due = min(due, *(again for again, _ in self._results.values()))
        return due

    def tick(self, now: float) -> None:
        """Do what is due."""
        self._session.tick(now)
        if self._drift_at <= now:
            self._check_drift(now)
        while self._waiting and self._waiting[0][0] <= now:
            _, run_id, make = heapq.heappop(self._waiting)
            self._say(run_id, make(), now)
        if self.online:
            for again, result in [each for each in self._results.values() if each[0] <= now]:
                self._say(result.run_id, result, max(again, now))

    def take(self, event: ToMinion | ConnectionEvent, now: float) -> None:
        """Take what came by the connection."""
        match event:
            case Call():
                delay, states = _sleep_of(event), bool(event.digest)
                self._begin(event.run_id, lambda: self._call(event), now, delay=delay, states=states)
            case ResultAck(run_id=run_id) | ResultRefused(run_id=run_id):
                self._results.pop(run_id, None)
                self._waits.pop(run_id, None)
            case Heartbeat():
                self._session.heartbeat(event, now)
            case Run() | Preview():
                self._run(event, now)
            case DesiredUpdate():
                self._take_document(event, now)
            case CheckCalls(run_ids=run_ids):
                self._check(run_ids, now)
            case FactRequest():
                answer = FactAnswer(error="this minion is simulated (saltern swarm): it has no machine to look at")
                self._send(FactAnswers(request=event.request, answers=(answer,) * len(event.questions)))
            case _:
                self._take_of_session(event, now)

    def _take_of_session(self, event: ToMinion | ConnectionEvent, now: float) -> None:
        match event:
            case Connected():
                self._counts["reconnections"] += self._was_connected
                self._was_connected = True
                self._session.connected(now)
            case Disconnected():
                self._counts["lost"] += self._session.session_state is not SessionState.OFFLINE
                self._session.disconnected()
            case DialFailed():
                self._counts["dials-failed"] += 1
            case HandshakeFailed():
                self._counts["handshakes-failed"] += 1
            case KeyState():
                self._count_key(event.state)
                self._session.key_state(event, now)
            case Refused():
                self._counts["refused"] += 1
                if not event.request:
                    self._session.refused(event, now)
            case AliveInterval():
                self._session.paced(event)
            case HelloAck():
                self._session.hello_acknowledged(event, now)
                for run_id, (_, result) in list(self._results.items()):
                    self._say(run_id, result, now)

    def _count_key(self, state: str) -> None:
        if state != self.key_state:
            if self.key_state:
                self._counts[self.key_state] -= 1
            self._counts[state] += 1
            self.key_state = state

    # --- what it says of itself

    def _key_request(self, accepted: bool) -> KeyRequest:
        if accepted:
            return KeyRequest(id=self.id)
        behaviour = self._behaviour
        return KeyRequest(id=self.id, token=behaviour.token, autosign_grains=dict(behaviour.autosign_grains))

    def _grains(self) -> dict[str, Any]:
        return {"os": "Simulated", **self._behaviour.grains, **self._own_grains, "id": self.id, "simulated": True}

    def _hello(self) -> Hello:
        takes = (STATES_OF_CALL, CHECKS_CALLS, CHECKS_RUNS, SETS_INTERVAL)
        return Hello(id=self.id, grains=self._grains(), held=self._held, session=self._name, agent=AGENT, takes=takes)

    def _keep_alive(self) -> KeepAlive:
        return KeepAlive(held=self._held, running=tuple(run_id for _, run_id, _ in self._waiting))

    # --- drift

    def _follow_drift(self, now: float) -> None:
        """Check at the intervals of the document, as a minion does; a cron expression is not followed here."""
        given = (self._documents.get(self._held) or {}).get("drift", {})
        if dict(given) != self._drift:
            self._drift = dict(given)
            self._plan_drift(now, part=self._chance())

    def _plan_drift(self, now: float, part: float = 1.0) -> None:
        """The first check comes after a `part` of the interval, as on a minion (`minion.agent.drift`)."""
        interval, splay = self._drift.get("interval", 0), self._drift.get("splay", 0)
        self._drift_at = now + interval * part + splay * self._chance() if interval else float("inf")

    def _check_drift(self, now: float) -> None:
        """Say that nothing has drifted, as a minion says it by itself."""
        self._plan_drift(now)
        document = self._documents.get(self._held)
        if document is None or not self.online:
            return
        self._counts["checks"] += 1
        run_id = f"drift-{self.id}-{int(now * 1000):012x}{int(self._chance() * 2**40):010x}"
        check = Run(run_id=run_id, kind="drift", generation=self._generation, digest=self._held, test=True)
        self._begin(run_id, lambda: run_result(check, document, changes=False, fails=False), now)

    # --- calls and runs

    def _fails(self) -> bool:
        percent = self._behaviour.fail_percent
        return percent > 0 and self._chance() * 100 < percent

    def _call(self, call: Call) -> RunResult:
        self._counts["calls"] += 1
        return call_result(call, self.id, self._grains() if call.fun.startswith("grains.") else {}, fails=self._fails())

    def _begin(
        self, run_id: str, make: Callable[[], RunResult], now: float, *, delay: float = 0.0, states: bool = False
    ) -> None:
        """Begin a run, unless it goes on or has a result. Of a function that takes no time only the result is said."""
        if run_id in self._results:
            self._say(run_id, self._results[run_id][1], now)
            return
        if any(each == run_id for _, each, _ in self._waiting):
            return
        delay += self._behaviour.delay
        if delay > 0 or states:
            self._send(RunStarted(run_id=run_id))
        if delay > 0:
            heapq.heappush(self._waiting, (now + delay, run_id, make))
        else:
            self._say(run_id, make(), now)

    def _run(self, run: Run | Preview, now: float) -> None:
        base = run.base if isinstance(run, Preview) else ""
        if isinstance(run, Run) and run.digest != self._held:
            self._send(ResyncRequired(generation=run.generation, held=self._held))
            return
        if isinstance(run, Preview):
            try:
                self._documents.take(base, run.digest, run.patch)
            except PatchMismatch as error:
                self._say(run.run_id, _refused_preview(run, str(error)), now)
                return
        document = self._documents.get(run.digest) or {}
        self._begin(run.run_id, lambda: self._result_of(run, document), now, states=True)
        if isinstance(run, Preview):
            self._documents.leave(run.digest)

    def _result_of(self, run: Run | Preview, document: Mapping[str, Any]) -> RunResult:
        self._counts["previews" if isinstance(run, Preview) else "runs"] += 1
        changes = run.digest != self._applied
        result = run_result(run, document, changes=changes, fails=self._fails())
        if isinstance(run, Run) and not run.test:
            self._applied = run.digest if result.outcome != "failed" else ""
        return result

    def _say(self, run_id: str, result: RunResult, now: float) -> None:
        """Say a result, and keep it until it is acknowledged."""
        wait = self._waits[run_id] = min(LONGEST_AGAIN, 2 * self._waits.get(run_id, SEND_AGAIN_AFTER / 2))
        self._results[run_id] = now + wait, result
        if self.online:
            self._send(result)

    def _check(self, run_ids: tuple[str, ...], now: float) -> None:
        waiting = {run_id for _, run_id, _ in self._waiting}
        for run_id in run_ids:
            if run_id in waiting:
                self._send(RunStarted(run_id=run_id))
            elif run_id in self._results:
                self._say(run_id, self._results[run_id][1], now)
            else:
                self._say(run_id, _never_came(run_id), now)

    def _take_document(self, update: DesiredUpdate, now: float) -> None:
        self._counts["documents"] += 1
        self._counts["document-bytes"] += len(_ENCODER.encode(update))
        if update.digest != self._held:
            if update.base and update.base != self._held:
                self._send(ResyncRequired(generation=update.generation, held=self._held))
                return
            try:
                self._documents.take(update.base, update.digest, update.patch)
            except PatchMismatch:
                self._send(ResyncRequired(generation=update.generation, held=self._held))
                return
            if self._held:
                self._documents.leave(self._held)
            self._held, self._generation = update.digest, update.generation
            self._follow_drift(now)
        self._send(Held(generation=update.generation, digest=update.digest))


def _sleep_of(call: Call) -> float:
    """Seconds that `test.sleep` takes."""
    length = call.args[0] if call.fun == "test.sleep" and call.args else 0
    return float(length) if isinstance(length, int | float) and 0 < length < LONGEST_SLEEP else 0.0


def _refused_preview(preview: Preview, why: str) -> RunResult:
    return RunResult(
        run_id=preview.run_id, kind="preview", generation=0, digest=preview.digest, outcome="error", error=why
    )


def _never_came(run_id: str) -> RunResult:
    return RunResult(
        run_id=run_id, kind="call", generation=0, digest="", outcome="error", error=NEVER_CAME, ending="unreachable"
    )
