"""What minions say, against a real store: once is once, nobody speaks for another, and nothing hostile gets in."""

import asyncio
import contextlib
import os
import signal
import sqlite3
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import zmq

from controller.access.audit import Audit
from controller.adapters.sdb import Profiles
from controller.compilation.compile_messages import CompiledMinion
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.config.access import AccessSettings
from controller.config.limits import AccessLimits
from controller.config.settings import ControllerSettings
from controller.enrolment.autosign import Autosign, AutosignSettings
from controller.enrolment.enrolment import Enrolment
from controller.enrolment.tokens import EnrolmentDesk
from controller.messages.after_commit import AfterCommit
from controller.messages.call_results import CallResults
from controller.messages.context import MessageContext, Reconcilers
from controller.messages.followed_options import followed_options
from controller.messages.greetings import Greetings
from controller.messages.key_requests import KeyRequests
from controller.messages.key_rotations import KeyRotations
from controller.messages.message_handlers import AnswerSources, MessageHandlers
from controller.messages.mine_pace import MinePace
from controller.messages.minion_events import MinionEventHandler
from controller.messages.own_authority import OwnAuthority
from controller.messages.peer_calls import PeerCalls
from controller.messages.pushed_files import PushedFiles
from controller.messages.refusal_log import RefusalLog
from controller.messages.replies import Replies
from controller.messages.run_events import RunEventHandler
from controller.messages.run_results import RunResults
from controller.messages.sent_events import MinionEventPublisher
from controller.messages.state_questions import StateQuestions
from controller.messages.state_results import StateResults
from controller.messages.stock_keys import StockKeys
from controller.observe.event_budget import EventBudget
from controller.observe.event_log import EventLog
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.policy.policy import Policy
from controller.reconcile.live import LiveRevision
from controller.sessions.file_answers import FileAnswers
from controller.sessions.file_server import FileServer
from controller.sessions.sessions import KeyRegistry, Session, Sessions
from controller.sessions.signs_of_life import SignsOfLife
from controller.store import AppliedRecord, DesiredRecord, RunRecord, Store, database
from controller.store.errors import StoreUnavailable
from controller.store.keys import Keys
from controller.store.run_tables.run_events import RunEventCounts
from highstate.types import Pos, Problem
from minion.agent.fact_queries import MOST_QUESTIONS
from reactors.bus import Bus
from wire.keys import new_pair
from wire.limits import MinionLimits, StrangerLimits
from wire.messages import (
    CHECKS_CALLS,
    SETS_INTERVAL,
    AliveInterval,
    Bye,
    CheckCalls,
    FactAnswer,
    FactAnswers,
    FactQuery,
    FindFile,
    GetBlob,
    GetMine,
    GetStates,
    Grains,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    Mine,
    MineEntry,
    MineFound,
    MinionEvents,
    MinionEventsAck,
    OwnRun,
    Refused,
    ResultAck,
    ResultRefused,
    RunEvents,
    RunEventsAck,
    RunProgress,
    RunResult,
    RunStarted,
    StatesFound,
)
from wire.server.types import Gone, Incoming

KEY = zmq.curve_keypair()[0].decode()
DIGEST = "a" * 64
RUNNING = {"file_|-a_|-a_|-managed": {"result": True, "changes": {"diff": "x"}, "comment": ""}}


class Outbox:
    """Where messages to minions end."""

    def __init__(self):
        self.sent, self.disconnected = [], []

    def send(self, key, message):
        self.sent.append((key, message))

    def send_all(self, messages):
        self.sent += messages

    def disconnect(self, key, connection=0):
        self.disconnected.append(key)

    def kinds(self):
        return [type(message).__name__ for _, message in self.sent]


class Causes:
    """The events that runs follow from, as far as messages tell of them."""

    def __init__(self):
        self.remediated = []

    def run_event(self, run):
        return 7

    def open_run_event(self, run_id):
        return 7

    def minion_remediated(self, run, drift_run):
        self.remediated.append((run.run_id, drift_run))


class Runs:
    """The reconciler of runs, as far as messages tell it anything."""

    def __init__(self):
        self.woken, self.ended_runs, self.causes = [], [], Causes()

    def wake(self, minions, cause=0):
        self.woken += minions

    def forget_run(self, run):
        pass

    def together(self):
        return nullcontext()

    def ended(self, run, outcome, cause=0, back_from=""):
        self.ended_runs.append((run.run_id, outcome))


class Builds:
    """The reconciler of documents, as far as messages tell it anything."""

    def __init__(self, facts):
        self.facts = facts
        self.connections, self.recompiled, self.fleet_changes = [], [], 0

    def connected(self, minion, cause=0):
        self.connections.append(minion)

    def grains_changed(self, minion, cause=0):
        self.recompiled.append(minion)

    def fleet_changed(self, cause=0):
        self.fleet_changes += 1

    def answered(self, minion, key, message):
        in_time = self.facts.answered(minion, key, message) is not None
        if in_time or self.facts.answered_late(minion, key, message):
            self.recompiled.append(minion)


class StatesOfNobody:
    """`StatesCompiler` that compiles nothing: of the questions that it gets is told what it was asked."""

    revision = "r1"

    async def compile(self, question, options, minions, secrets=()):
        for minion in minions:
            asked = f"{minion} {question.mods} {question.saltenv} {dict(options)} {question.states_alone}"
            problem = Problem(message=asked, pos=Pos(file="x.sls"))
            yield CompiledMinion(minion_id=minion, errors=(problem,))


def metrics_refusals(metrics):
    return partial(metrics.limit_refused, "minion")


def key_requests(context, replies, builds):
    return KeyRequests(
        context=context,
        replies=replies,
        keyring=KeyRegistry(),
        builds=builds,
        rotations=KeyRotations(
            context=context,
            replies=replies,
            keyring=KeyRegistry(),
            next_key_file=Path("/nowhere/controller.key.next"),
        ),
        stock_keys=StockKeys(own=new_pair(), identity=lambda key: None),
        enrolment=Enrolment(
            autosign=Autosign(AutosignSettings()),
            tokens=EnrolmentDesk(store=context.store.enrolment_tokens, limits=StrangerLimits(), clock=lambda: 1.0),
        ),
    )


def peer_calls(store, server, on_refusal):
    return PeerCalls(
        authority=OwnAuthority(settings=ControllerSettings(), secrets=Profiles({}), select=lambda _: frozenset()),
        settings=AccessSettings(),
        audit=Audit(store=store, clock=lambda: 1.0, limits=AccessLimits(), redact=str, on_refusal=on_refusal),
        select=lambda _: frozenset(),
        send=server.send,
        limits=MinionLimits(),
        on_refusal=on_refusal,
    )


def answer_sources(store, server, mines, on_refusal, folder):
    return AnswerSources(
        files=FileAnswers(FileServer(), server.send, most=8),
        mines=mines,
        mine_steps=1_000_000,
        mine_pace=MinePace(MinionLimits(mine_changes=5)),
        states=StateQuestions(
            compiler=StatesOfNobody(),
            send=server.send,
            limits=MinionLimits(state_questions=2, state_questions_a_second=0.5),
            on_refusal=on_refusal,
            saltenvs=lambda minion: frozenset(["base"]),
        ),
        options=followed_options(ControllerSettings()),
        pushed=PushedFiles(folder=folder, send=server.send, limits=MinionLimits(), most_file=0, on_refusal=on_refusal),
        peers=peer_calls(store, server, on_refusal),
    )


def message_handlers(context, server, runs, builds, folder):
    """All handlers on one store, with small budgets."""
    store = context.store
    redactor = Redactor(store, "key")
    results = RunResults(context=context, reconciler=runs, redactor=redactor, keep_runs=5, keep_bytes=100_000)
    publisher = MinionEventPublisher(
        context=context,
        redactor=redactor,
        budget=EventBudget(MinionLimits(events=100, events_a_second=1.0)),
        keep=EventLog(store, context.bus, lambda: 1.0).keep_now,
    )
    replies = Replies(context=context, server=server, greeting=HelloAck(epoch="epoch", alive_interval=15.0))
    mines = MineStore(store=store, pillar_of=lambda minion: {}, accepted=lambda: KeyRegistry(store.keys.all()).accepted)
    keys = key_requests(context, replies, builds)
    reconcilers = Reconcilers(runs=runs, builds=builds)
    return MessageHandlers(
        context=context,
        replies=replies,
        keys=keys,
        greetings=Greetings(context=context, replies=replies, keys=keys, reconcilers=reconcilers, mines=mines),
        reconcilers=reconcilers,
        results=results,
        calls=CallResults(context=context, replies=replies, results=results),
        states=StateResults(context=context, replies=replies, results=results),
        events=RunEventHandler(context=context, reconciler=runs, publisher=publisher),
        minion_events=MinionEventHandler(context=context, publisher=publisher),
        refusals=RefusalLog(most=20, clock=lambda: 1.0),
        answers=answer_sources(store, server, mines, metrics_refusals(context.metrics), folder),
    )


@pytest.fixture
def rig(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 200)
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        server, runs, sessions = Outbox(), Runs(), Sessions()
        metrics = Metrics(lambda: 1.0)
        facts = FactQueries(
            store=store,
            sessions=sessions,
            server=server,
            metrics=metrics,
            clock=lambda: 1.0,
            live=LiveRevision(policy=Policy(facts=("cmd.run",))),
        )
        builds = Builds(facts)
        context = MessageContext(
            store=store,
            sessions=sessions,
            bus=Bus(lambda: 1.0),
            metrics=metrics,
            clock=lambda: 1.0,
            after_commit=AfterCommit(),
        )
        yield SimpleNamespace(
            handlers=message_handlers(context, server, runs, builds, tmp_path / "minions"),
            store=store,
            server=server,
            runs=runs,
            builds=builds,
            recompiled=builds.recompiled,
            facts=facts,
        )


def say(rig, message, minion="web1", key=KEY):
    rig.handlers.deliver([Incoming(key=key, id=minion, message=message)])


def result(run_id="1", **more):
    fields = {"kind": "apply", "generation": 1, "digest": DIGEST, "outcome": "changed", "states": RUNNING}
    return RunResult(run_id=run_id, **{**fields, **more})


def events(*sent, run_id="scheduled-web1-1", first=0):
    return RunEvents(run_id=run_id, first=first, end=first + len(sent), events=sent)


def with_run(rig, minion="web1", run_id="1"):
    rig.store.minions.seen(minion, 1.0, grains={"id": minion})
    rig.store.desired.put([DesiredRecord(minion=minion, generation=1, revision="r1", digest=DIGEST, document=b"\x80")])
    rig.store.runs.create(RunRecord(run_id=run_id, minion=minion, kind="apply", created=1.0, digest=DIGEST))


def test_a_minion_is_asked_for_calls_without_a_result(rig):
    def call(run_id, **more):
        rig.store.runs.create(RunRecord(run_id=run_id, minion="web1", kind="call", created=1.0, **more))

    with_run(rig, run_id="apply")
    call("sent")
    call("compiled", revision="r1", digest=DIGEST)
    call("compiles", revision="r1")
    call("over", state="finished", outcome="ok", finished=2.0)
    rig.store.runs.create(RunRecord(run_id="another", minion="db1", kind="call", created=1.0))
    say(rig, Hello(id="web1", grains={}))
    assert not any(isinstance(message, CheckCalls) for _, message in rig.server.sent), "one that does not know it"
    say(rig, Hello(id="web1", grains={}, takes=(CHECKS_CALLS,)))
    (asked,) = [message for _, message in rig.server.sent if isinstance(message, CheckCalls)]
    assert sorted(asked.run_ids) == ["compiled", "sent"]


def test_the_start_is_told_with_the_grains_that_it_shall_have(rig):
    with rig.handlers.context.bus.subscribe("*start*") as heard:
        say(rig, Hello(id="web1", grains={"os": "Debian", "cpus": 4}, start_grains=("os", "away")))
        say(rig, Hello(id="web1", grains={"os": "Debian"}, start_grains=("os",)))
        said = heard.drain()
    assert [event.tag for event in said] == ["salt/minion/web1/start", "minion_start"], "once"
    assert [event.data["grains"] for event in said] == [{"os": "Debian"}] * 2


def test_the_start_waits_for_whoever_says_so(rig):
    with rig.handlers.context.bus.subscribe("*start*") as heard:
        say(rig, Hello(id="web1", grains={"os": "Debian"}, starts=False))
        say(rig, Hello(id="web1", grains={"os": "Debian"}, starts=False))
        assert not heard.drain()
        say(rig, Hello(id="web1", grains={"os": "Debian"}))
        say(rig, Hello(id="web1", grains={"os": "Debian"}))
        said = heard.drain()
    assert [event.tag for event in said] == ["salt/minion/web1/start", "minion_start"]
    assert not any("grains" in event.data for event in said)


def test_each_start_is_told_though_the_minion_was_never_away(rig):
    with rig.handlers.context.bus.subscribe("salt/minion/*/start") as heard:
        for session in ("a", "a", "b"):
            say(rig, Hello(id="web1", grains={"os": "Debian"}, session=session))
        assert [event.data["session"] for event in heard.drain()] == ["a", "b"]


def test_a_stranger_gets_no_more_than_where_its_key_stands(rig):
    say(rig, KeyRequest(id="web1"), minion=None)
    assert rig.server.sent == [(KEY, KeyState(state="pending"))]
    say(rig, Hello(id="web1", grains={}), minion=None)
    assert len(rig.server.sent) == 1


def test_a_pending_key_that_asks_again_is_answered_from_memory(rig, monkeypatch):
    say(rig, KeyRequest(id="web1"), minion=None)
    monkeypatch.setattr(Keys, "request", lambda *_: pytest.fail("the store was asked"))
    monkeypatch.setattr(Keys, "all", lambda *_: pytest.fail("all keys were read"))
    say(rig, KeyRequest(id="web1"), minion=None)
    assert rig.server.sent == [(KEY, KeyState(state="pending"))] * 2


def test_a_result_that_is_not_stored_is_not_acknowledged(rig):
    say(rig, Hello(id="web1", grains={}))
    say(rig, RunResult(run_id="of-nobody", kind="apply", generation=1, digest=DIGEST, outcome="ok"))
    assert rig.server.sent[1:] == [
        (KEY, ResultRefused(run_id="of-nobody", reason="the controller knows no such run of this minion"))
    ]


def test_hello_connects_and_asks_for_a_compile(rig):
    say(rig, Hello(id="web1", grains={"os": "Debian"}, held="no digest\n" * 100, session="s" * 1000))
    assert rig.server.sent == [(KEY, HelloAck(epoch="epoch", alive_interval=15.0, time=1.0))]
    assert rig.recompiled == ["web1"]
    record = rig.store.minions.get("web1")
    assert (record.grains, record.held, len(record.session)) == ({"os": "Debian", "id": "web1"}, "", 64)


def test_no_minion_claims_the_id_of_another(rig):
    say(rig, Hello(id="web1", grains={"id": "db1", "role": "db"}))
    assert rig.store.minions.get("web1").grains == {"id": "web1", "role": "db"}
    say(rig, Grains(grains={"id": "db1"}))
    assert rig.store.minions.get("web1").grains == {"id": "web1"}


def test_hellos_that_come_together_are_those_of_each(rig):
    with_run(rig)
    rig.store.minions.seen("web2", 1.0, grains={"id": "web2"}, held=DIGEST)
    hellos = [
        Hello(id=name, grains={"os": name}, session=name, takes=(CHECKS_CALLS,)) for name in ("web1", "web2", "web3")
    ]
    batch = [Incoming(key=f"key of {each.id}", id=each.id, message=each) for each in hellos]
    rig.handlers.deliver([batch[0], *batch])
    assert rig.builds.connections == ["web1", "web1", "web2", "web3"]
    assert set(rig.recompiled) == {"web1", "web2", "web3"}
    found = {name: rig.store.minions.get(name) for name in ("web1", "web2", "web3")}
    assert {name: (each.grains["os"], each.session, each.held) for name, each in found.items()} == {
        name: (name, name, "") for name in found
    }
    sessions = rig.handlers.context.sessions
    assert [sessions.session(name).key for name in found] == [f"key of {name}" for name in found]


def test_hellos_that_cannot_be_taken_together_are_taken_one_by_one(rig, monkeypatch):
    def broken(greetings, group):
        raise RuntimeError("no")

    monkeypatch.setattr("controller.messages.greetings.Greetings.take_together", broken)
    rig.handlers.deliver([Incoming(key=KEY, id="web1", message=Hello(id="web1", grains={}))])
    assert rig.server.sent == [(KEY, HelloAck(epoch="epoch", alive_interval=15.0, time=1.0))]


def test_who_connects_with_the_same_grains_is_not_compiled_again(rig):
    with_run(rig)
    rig.store.minions.seen("web1", 1.0, grains={"id": "web1"})
    say(rig, Hello(id="web1", grains={"id": "web1"}))
    assert rig.recompiled == []
    assert rig.builds.connections == ["web1"]
    assert rig.runs.woken == ["web1"]


def test_nobody_is_silent_whose_message_waits_to_be_handled(rig):
    say(rig, Hello(id="web1", grains={}))
    rig.handlers.lag = lambda: 10.0
    rig.handlers.expire(now=50.0)
    assert rig.handlers.context.sessions.session("web1") is not None
    rig.handlers.expire(now=57.0)
    assert rig.handlers.context.sessions.session("web1") is None


def test_a_minion_without_a_session_is_to_say_hello_on_a_new_connection(rig):
    """A welcome is no question: the minion took it for an answer, sent all that it had, and was welcomed again."""
    say(rig, Hello(id="web1", grains={}))
    rig.handlers.expire(now=47.0)
    say(rig, KeepAlive(held=DIGEST))
    assert rig.server.kinds() == ["HelloAck"]
    assert rig.server.disconnected == [KEY]
    say(rig, Bye())
    assert rig.server.disconnected == [KEY]
    say(rig, Hello(id="web1", grains={}))
    say(rig, KeepAlive(held=DIGEST))
    assert rig.server.kinds() == ["HelloAck", "HelloAck"]


def test_a_result_counts_once_and_is_acknowledged_each_time(rig):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    for _ in range(3):
        say(rig, result())
    assert rig.runs.ended_runs == [("1", "changed")]
    assert rig.server.sent[1:] == [(KEY, ResultAck(run_id="1"))] * 3
    run = rig.store.runs.get("1")
    assert (run.state, run.outcome, run.changes, run.failed) == ("finished", "changed", 1, 0)
    assert rig.store.runs.result("1")["states"] == RUNNING


def call_result(run_id, **more):
    return RunResult(run_id=run_id, kind="call", generation=0, digest="", outcome="ok", value=True, **more)


def test_results_of_calls_that_come_together_are_each_stored_told_and_acknowledged_once(rig):
    say(rig, Hello(id="web1", grains={}))
    for number in range(4):
        rig.store.runs.create(RunRecord(run_id=f"c{number}", minion="web1", kind="call", created=1.0, fun="test.ping"))
    rig.store.runs.create(RunRecord(run_id="others", minion="db1", kind="call", created=1.0, fun="test.ping"))
    rig.store.secrets.put({"web1": ["s3cret"]})
    rig.handlers.results.redactor.learn({"web1": ["s3cret"]})
    loop = asyncio.new_event_loop()
    waiter = rig.handlers.results.waiters["c0"] = loop.create_future()
    loop.close()
    messages = [
        RunStarted(run_id="c0"),
        call_result("c0"),
        RunStarted(run_id="c1"),
        call_result("c2", error="it is s3cret", started=5.0, seconds=2.0),
        call_result("c0"),
        call_result("others"),
        call_result("of-nobody"),
        call_result("c3", ending="timed out"),
    ]
    incoming = [Incoming(key=KEY, id="web1", message=message) for message in messages]
    with rig.handlers.context.bus.subscribe("*") as heard:
        rig.handlers.deliver(incoming)
        tags_of = [event.tag for event in heard.drain()]
    for tag in ("saltern/run/c0/started", "saltern/run/c1/started", *(f"salt/job/c{n}/ret/web1" for n in (0, 2, 3))):
        assert tags_of.count(tag) == 1, tag
    acknowledged = sorted(message.run_id for _, message in rig.server.sent if isinstance(message, ResultAck))
    assert acknowledged == ["c0", "c0", "c2", "c3"], "the second one, too: it may not know of the first"
    refused = sorted(message.run_id for _, message in rig.server.sent if isinstance(message, ResultRefused))
    assert refused == ["of-nobody", "others"]
    runs = {number: rig.store.runs.get(f"c{number}") for number in range(4)}
    assert [runs[number].state for number in range(4)] == ["finished", "started", "finished", "finished"]
    assert (runs[0].started, runs[0].outcome, runs[2].started, runs[2].seconds) == (1.0, "ok", 5.0, 2.0)
    assert "s3cret" not in runs[2].summary
    assert rig.store.runs.result("c0") == {"states": {}, "value": True, "error": "", "retcode": 0}
    assert runs[3].ending == "timed out"
    assert rig.store.runs.get("others").state == "requested"
    assert waiter.result().run_id == "c0"


def test_calls_that_cannot_be_stored_together_are_stored_one_by_one(rig, monkeypatch):
    say(rig, Hello(id="web1", grains={}))
    for number in range(2):
        rig.store.runs.create(RunRecord(run_id=f"c{number}", minion="web1", kind="call", created=1.0, fun="test.ping"))

    def broken(*_):
        raise ValueError("one of them has something that nobody thought of")

    monkeypatch.setattr("controller.messages.call_results.CallResults.take_together", broken)
    rig.handlers.deliver([Incoming(key=KEY, id="web1", message=call_result(f"c{number}")) for number in range(2)])
    assert [message for _, message in rig.server.sent[1:]] == [ResultAck(run_id="c0"), ResultAck(run_id="c1")]


def states_of_two(rig):
    """Two minions with a run each, and what they say of them at once."""
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    other = zmq.curve_keypair()[0].decode()
    rig.handlers.deliver([Incoming(key=other, id="web2", message=Hello(id="web2", grains={}))])
    rig.store.runs.create(RunRecord(run_id="2", minion="web2", kind="apply", created=1.0, generation=1, digest=DIGEST))
    rig.server.sent.clear()
    said = [
        (KEY, "web1", RunStarted(run_id="1")),
        (other, "web2", result(run_id="2", outcome="failed", kind="apply")),
        (KEY, "web1", result()),
        (other, "web2", RunStarted(run_id="2")),
        (KEY, "web1", result()),
        (other, "web2", result(run_id="1")),
        (KEY, "web1", result(run_id="drift-web1-1", kind="drift", outcome="pending")),
        (KEY, "web1", result(run_id="drift-web1-1", kind="drift", outcome="pending")),
        (KEY, "web1", result(run_id="nobody's")),
    ]
    return other, [Incoming(key=key, id=minion, message=message) for key, minion, message in said]


@pytest.mark.parametrize("together", [True, False])
def test_results_of_states_are_the_same_together_and_one_by_one(rig, monkeypatch, together):
    other, said = states_of_two(rig)

    def broken(*_):
        raise ValueError("one of them has something that nobody thought of")

    if not together:
        monkeypatch.setattr("controller.messages.state_results.StateResults.take_together", broken)
    with rig.handlers.context.bus.subscribe("saltern/run/*/started") as heard:
        rig.handlers.deliver(said)
        assert [each.tag for each in heard.drain()] == ["saltern/run/1/started"]
    assert sorted(rig.runs.ended_runs) == [("1", "changed"), ("2", "failed"), ("drift-web1-1", "pending")]
    first, second, drift = (rig.store.runs.get(each) for each in ("1", "2", "drift-web1-1"))
    assert (first.state, first.started, first.outcome, first.changes) == ("finished", 1.0, "changed", 1)
    assert (second.state, second.started, second.outcome) == ("finished", None, "failed")
    assert (drift.state, drift.minion, drift.test, drift.digest) == ("finished", "web1", True, DIGEST)
    assert all(rig.store.runs.result(each.run_id)["states"] == RUNNING for each in (first, second, drift))
    row = rig.store.minions.status(["web1"])[0]
    assert (row.last_run.run_id, row.last_drift.run_id) == ("1", "drift-web1-1")
    acked = sorted((key == other, each.run_id) for key, each in rig.server.sent if isinstance(each, ResultAck))
    assert acked == sorted([(False, "1")] * 2 + [(False, "drift-web1-1")] * 2 + [(True, "2")])
    refused = sorted((key == other, each.run_id) for key, each in rig.server.sent if isinstance(each, ResultRefused))
    assert refused == [(False, "nobody's"), (True, "1")], "of a run of another, and of none"


def test_results_of_states_that_come_together_are_not_taken_one_by_one(rig, monkeypatch):
    _, said = states_of_two(rig)
    alone = []
    monkeypatch.setattr(type(rig.handlers), "_deliver_one", lambda self, each: alone.append(each.message.run_id))
    rig.handlers.deliver(said)
    assert alone == ["1", "nobody's"], "what is refused"


def test_a_run_that_began_is_told_once(rig):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("saltern/run/*/started") as heard:
        for _ in range(3):
            say(rig, RunStarted(run_id="1"))
        assert len(heard.drain()) == 1


def test_events_of_runs_are_so_many_and_so_large(rig):
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("my/*") as heard:
        sent = (("my/large", {"x": "x" * 200_000}), *((f"my/{at}", {}) for at in range(300)))
        for number in range(3):
            say(rig, events(*sent, run_id=f"scheduled-{number}"))
        assert [each.tag for each in heard.drain()] == [f"my/{at}" for at in range(100)]


def test_events_of_a_run_count_once_and_in_their_order(rig):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("my/*") as heard:
        say(rig, events(("my/0", {}), ("my/1", {}), run_id="1"))
        say(rig, events(("my/0", {}), ("my/1", {}), ("my/2", {}), run_id="1"))  # no acknowledgement had come
        say(rig, events(("my/9", {}), run_id="1", first=9))  # those before it are missing
        say(rig, events(("my/0", {}), run_id="1"))
        said = heard.drain()
    assert [(event.tag, event.cause) for event in said] == [("my/0", 7), ("my/1", 7), ("my/2", 7)]
    assert [message.taken for _, message in rig.server.sent if isinstance(message, RunEventsAck)] == [2, 3, 3, 3]
    assert [rig.store.events.get(event.id).tag for event in said] == ["my/0", "my/1", "my/2"], "kept at once"


def test_events_that_could_not_be_stored_are_neither_published_nor_acknowledged(rig, monkeypatch):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("my/*") as heard:
        with monkeypatch.context() as broken:
            broken.setattr(RunEventCounts, "take", lambda *_: unavailable())
            say(rig, events(("my/0", {}), run_id="1"))
        assert not heard.drain()
        assert not any(isinstance(message, RunEventsAck) for _, message in rig.server.sent)
        say(rig, events(("my/0", {}), run_id="1"))
        assert [event.tag for event in heard.drain()] == ["my/0"]


@pytest.mark.parametrize("together", [False, True])
async def test_a_result_that_cannot_be_committed_is_told_to_nobody_until_it_is(rig, monkeypatch, together):
    """The disk is full at the end of the transaction: the minion sends it again, and events and askers get it once."""
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    numbers = range(2 if together else 1)
    for number in numbers:
        rig.store.runs.create(RunRecord(run_id=f"c{number}", minion="web1", kind="call", created=1.0, fun="test.ping"))
    waiter = rig.handlers.results.waiters["c0"] = asyncio.get_running_loop().create_future()
    results = [
        RunResult(run_id=f"c{number}", kind="call", generation=0, digest="", outcome="ok", value=True)
        for number in numbers
    ]
    batch = [Incoming(key=KEY, id="web1", message=each) for each in results]
    with rig.handlers.context.bus.subscribe("salt/job/*") as heard:
        with monkeypatch.context() as full:
            full.setattr("controller.store.database._OpenTransaction.commit", lambda _: unavailable())
            rig.handlers.deliver(batch)
            rig.handlers.deliver(batch)
        assert (heard.drain(), waiter.done(), rig.store.runs.get("c0").finished) == ([], False, None)
        rig.handlers.deliver(batch)
        rig.handlers.deliver(batch)
        assert len(heard.drain()) == len(numbers)
    assert (await waiter).value is True


def unavailable():
    raise StoreUnavailable("disk full")


def test_events_over_a_limit_are_counted_and_acknowledged(rig):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("my/*") as heard:
        say(rig, RunEvents(run_id="1", first=0, end=3))  # as the wire gives those that are over a limit
        say(rig, events(("my/3", {}), run_id="1", first=3))
        assert [event.tag for event in heard.drain()] == ["my/3"]


def own(*sent, stream="s1", first=0):
    return MinionEvents(stream=stream, first=first, end=first + len(sent), events=sent)


def test_events_of_a_minion_count_once_and_in_their_order(rig):
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("my/*") as heard:
        say(rig, own(("my/0", {}), ("my/1", {})))
        say(rig, own(("my/0", {}), ("my/1", {}), ("my/2", {})))  # no acknowledgement had come
        say(rig, own(("my/0", {})))
        say(rig, own(("my/3", {}), stream="s2"))
        say(rig, own(("my/5", {}), stream="s2", first=2))  # the store was put back: what is gone is gone
        say(rig, MinionEvents(stream="s2", first=3, end=5))  # as the wire gives those that are over a limit
        said = heard.drain()
    assert [event.tag for event in said] == ["my/0", "my/1", "my/2", "my/3", "my/5"]
    assert said[0].data == {"id": "web1", "tag": "my/0", "data": {}, "cmd": "_minion_event", "pretag": None}
    taken = [(message.stream, message.taken) for _, message in rig.server.sent if isinstance(message, MinionEventsAck)]
    assert taken == [("s1", 2), ("s1", 3), ("s1", 3), ("s2", 1), ("s2", 3), ("s2", 5)]


def test_the_stream_of_a_minion_is_known_for_as_long_as_it_lasts(rig):
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("my/0") as heard:
        say(rig, own(("my/0", {})))
        for number in range(300):
            rig.store.run_events.take("web1", f"run{number}", 1)
        say(rig, own(("my/0", {})))
        assert len(heard.drain()) == 1


def test_a_minion_sends_reserved_tags_under_its_own_id_alone(rig):
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("salt*") as heard:
        tags = ("salt/beacon/db1/load/", "salt/beacon/web1", "salt/minion/web1/start", "saltern/ensure/db1/x/resolved")
        say(rig, own(*((tag, {}) for tag in tags), ("salt/beacon/web1/load/", {"id": "db1", "1m": 3.0})))
        event, refused = sorted(heard.drain(), key=lambda each: each.tag)
    assert (event.tag, event.data) == ("salt/beacon/web1/load/", {"id": "web1", "1m": 3.0})
    assert refused.tag == "saltern/minion/web1/refused_tag", "the first is told; an attacker does not fill the history"
    assert refused.data["tag"] == "salt/beacon/db1/load/"
    assert b'_refusals_total{reason="reserved-tag"} 4.0' in rig.handlers.context.metrics.exposition()


def test_steps_of_healing_are_told_and_counted(rig):
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("saltern/ensure/*") as heard:
        say(
            rig,
            own(*((f"saltern/ensure/web1/disk/{step}", {"tries": 1}) for step in ("healing", "made-up", "resolved"))),
        )
        assert [event.tag.rpartition("/")[2] for event in heard.drain()] == ["healing", "resolved"]
    assert b'saltern_ensure_total{step="resolved"} 1.0' in rig.handlers.context.metrics.exposition()


def test_what_a_minion_had_no_room_for_is_counted(rig):
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("saltern/minion/web1/events_dropped") as heard:
        say(rig, own(("saltern/minion/web1/events_dropped", {"id": "web1", "count": 7})))
        assert [event.data["count"] for event in heard.drain()] == [7]
    assert rig.handlers.context.metrics.limit_refusals("minion")["events-waiting"] == 7


def test_problems_of_a_minions_configuration_are_told_once(rig):
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("saltern/minion/web1/problems") as heard:
        for _ in range(2):
            say(rig, KeepAlive(problems=("/etc/saltern/minion:3: beacon lod: there is none",)))
        say(rig, KeepAlive())
        assert [len(event.data["problems"]) for event in heard.drain()] == [1, 0]


def test_nobody_sends_events_of_a_run_of_another(rig):
    with_run(rig, minion="db1")
    say(rig, Hello(id="web1", grains={}))
    with rig.handlers.context.bus.subscribe("my/*") as heard:
        say(rig, events(("my/0", {}), run_id="1"))
        say(rig, events(("my/0", {}), run_id="no-such"))
        assert not heard.drain()


def test_results_of_runs_that_a_minion_begins_take_only_so_many_bytes(rig):
    say(rig, Hello(id="web1", grains={}))
    for number in range(5):
        say(rig, result(run_id=f"scheduled-{number}", kind="call", outcome="ok", value=os.urandom(28_000).hex()))
    kept = [rig.store.runs.result(f"scheduled-{number}") is not None for number in range(5)]
    assert kept == [False, True, True, True, True], "the newest comes on top"


RESERVED = [
    "salt/auth",
    "salt/key",
    "salt/minion/db1/start",
    "minion_start",
    "salt/presence/change",
    "salt/fileserver/gitfs/update",
    "salt/job/1/ret/db1",
    "salt/job/1/new",
    "salt/state_result/1/db1/x",
    "salt/state_result/scheduled-web1-1/db1/x",
    "saltern/hook",
    "saltern/sync",
    "saltern/run/1/started",
    "saltern/minion/db1/gone",
]
"""Tags of what the controller says itself, and of what another minion may say."""


def test_no_minion_says_what_the_controller_says(rig):
    say(rig, Hello(id="web1", grains={}))
    sent = tuple((tag, {"id": "db1", "act": "accept"}) for tag in [*RESERVED, "my/tag"])
    with rig.handlers.context.bus.subscribe("*") as seen:
        say(rig, events(*sent))
        told = {event.tag: event.data for event in seen.drain()}
    assert sorted(told) == ["my/tag", "saltern/minion/web1/refused_tag"]
    assert told["my/tag"]["id"] == "web1", "who said it is the controller's word"


def test_nobody_reports_a_run_of_another(rig):
    with_run(rig, minion="db1")
    say(rig, Hello(id="web1", grains={}))
    say(rig, result())
    assert rig.runs.ended_runs == []
    assert rig.store.runs.get("1").state == "requested"
    say(rig, result(run_id="nobody asked"))
    assert rig.store.runs.get("nobody asked") is None


def test_a_drift_report_carries_the_revision_of_the_document_that_was_checked(rig):
    with_run(rig)
    say(rig, Hello(id="web1", grains={"id": "web1"}))
    older = AppliedRecord(minion="web1", generation=0, digest="b" * 64, revision="r0", at=1.0, outcome="ok")
    rig.store.desired.put([DesiredRecord(minion="web1", generation=1, digest="b" * 64, document=b"\x80")])
    rig.store.applied.put(older)
    fresh = {"minion": "web1", "generation": 2, "revision": "r1", "compiled_revision": "r1", "digest": DIGEST}
    rig.store.desired.put([DesiredRecord(**fresh)])
    say(rig, result(run_id="drift-web1-1", kind="drift", outcome="ok"))  # while the push is on its way
    say(rig, result(run_id="drift-web1-2", kind="drift", outcome="ok", digest="b" * 64))
    assert [rig.store.runs.get(f"drift-web1-{number}").revision for number in (1, 2)] == ["r1", "r0"]


@pytest.mark.parametrize("run_id", ["drift-" + "x" * 300, "drift-\n", "other", "drift-", "drift-../../x/"])
def test_a_drift_report_needs_a_decent_id(rig, run_id):
    say(rig, Hello(id="web1", grains={}))
    say(rig, result(run_id=run_id, kind="drift"))
    assert rig.store.runs.newest() == []


@pytest.mark.parametrize(("kind", "stored"), [("call", True), ("drift", False), ("apply", False)])
def test_calls_of_a_minions_schedule_are_stored(rig, kind, stored):
    say(rig, Hello(id="web1", grains={}))
    say(rig, result(run_id="scheduled-web1-1", kind=kind, outcome="ok", value={"a": 1}))
    run = rig.store.runs.get("scheduled-web1-1")
    assert (run is not None) == stored
    if run is not None:
        assert (run.kind, run.reason, run.outcome, run.test) == ("call", "schedule", "ok", False)


def test_the_event_of_a_minions_own_job_says_which_it_was(rig):
    say(rig, Hello(id="web1", grains={}))
    about = {"schedule": "nightly", "metadata": {"why": "backup"}}
    big = {"schedule": "other", "metadata": {"a": "b" * 20_000}}
    with rig.handlers.context.bus.subscribe("salt/job/*/ret/web1") as heard:
        say(rig, result(run_id="scheduled-web1-1", kind="call", outcome="ok", **about))
        say(rig, result(run_id="scheduled-web1-2", kind="call", outcome="ok", **big))
        first, second = (event.data for event in heard.drain())
    assert {key: first[key] for key in about} == about
    assert second["schedule"] == "other"
    assert "metadata" not in second  # a minion may say too much


@pytest.mark.parametrize(
    ("kind", "own", "reason"),
    [
        (
            "remediate",
            OwnRun(drift_run="drift-web1-1", alone=812.4),
            "healed while the controller was away for 812 s: drift drift-web1-1",
        ),
        ("remediate", OwnRun(drift_run="x\ny", alone=5), "healed while the controller was away for 5 s"),
        ("remediate", None, "healed while the controller was away"),
        ("apply", None, None),
        ("drift", OwnRun(drift_run="drift-web1-1", alone=5), None),
        ("call", None, None),
    ],
)
def test_what_a_minion_put_right_by_itself_is_stored_with_its_cause(rig, kind, own, reason):
    say(rig, Hello(id="web1", grains={}))
    say(rig, result(run_id="heal-web1-1", kind=kind, outcome="changed", own=own, states=RUNNING))
    run = rig.store.runs.get("heal-web1-1")
    assert (run and run.reason) == reason
    if run is not None:
        assert (run.kind, run.outcome, run.test, run.keys, run.digest) == ("remediate", "changed", False, None, DIGEST)
        say(rig, result(run_id="heal-web1-1", kind=kind, outcome="changed", own=own, states=RUNNING))
        assert [each.run_id for each in rig.store.runs.newest()] == ["heal-web1-1"]
        assert b'saltern_remediations_alone_total{outcome="changed"} 1.0' in rig.handlers.context.metrics.exposition()


def test_a_drift_check_is_no_remediation_whatever_it_says(rig):
    say(rig, Hello(id="web1", grains={}))
    say(rig, result(run_id="drift-web1-1", kind="drift", outcome="ok", own=OwnRun(drift_run="d", alone=5)))
    assert rig.store.runs.get("drift-web1-1").reason == "schedule"


def test_a_minion_is_told_what_the_time_is(rig):
    say(rig, Hello(id="web1", grains={}))
    [ack] = [message for _, message in rig.handlers.replies.server.sent if isinstance(message, HelloAck)]
    assert ack.time == 1.0


def test_drift_reports_are_kept_within_bounds(rig):
    say(rig, Hello(id="web1", grains={}))
    rig.store.minions.seen("web1", 1.0)
    for number in range(20):
        say(rig, result(run_id=f"drift-web1-{number}", kind="drift", outcome="pending"))
    kept = rig.store.runs.newest(minion="web1")
    assert len(kept) <= 7
    assert kept[0].run_id == "drift-web1-19"


def test_a_waiter_gets_the_result(rig):
    async def wait():
        with_run(rig)
        say(rig, Hello(id="web1", grains={}))
        future = rig.handlers.results.waiters["1"] = asyncio.get_running_loop().create_future()
        say(rig, result())
        return await future

    assert asyncio.run(wait()).outcome == "changed"


def test_who_goes_is_gone(rig):
    say(rig, Hello(id="web1", grains={}))
    say(rig, Bye())
    assert rig.handlers.context.sessions.session("web1") is None
    say(rig, Hello(id="web1", grains={}))
    rig.handlers.deliver([Gone(key=KEY)])
    assert rig.handlers.context.sessions.session("web1") is None
    say(rig, Hello(id="web1", grains={}))
    rig.handlers.expire(now=45.5)
    assert rig.handlers.context.sessions.session("web1") is not None
    rig.handlers.expire(now=47.0)
    assert rig.handlers.context.sessions.session("web1") is None


def test_a_mine_that_changes_all_the_time_compiles_others_now_and_then(rig):
    say(rig, Hello(id="web1", grains={}))
    before = rig.builds.fleet_changes
    for number in range(50):
        say(rig, Mine(entries={"addr": MineEntry(value=number // 2)}))  # each value comes twice
    assert rig.builds.fleet_changes - before == 5
    assert rig.handlers.answers.mine_pace.due(1.0) == []
    assert rig.handlers.answers.mine_pace.due(7.0) == [("web1", {"addr": MineEntry(value=24)})]


async def test_files_without_a_tree_are_not_found(rig):
    say(rig, Hello(id="web1", grains={}))
    say(rig, FindFile(request=7, path="../../etc/shadow"))
    say(rig, GetBlob(request=8, oid="0" * 40))
    task = asyncio.create_task(rig.handlers.answers.files.run())
    while len(rig.server.sent) < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    (_, found), (_, blob) = rig.server.sent[1:]
    assert (found.request, found.oid) == (7, "")
    assert (blob.request, blob.total) == (8, -1)


def test_one_message_that_breaks_us_costs_no_other(rig):
    say(rig, Hello(id="web1", grains={}))
    broken = Incoming(key=KEY, id="web1", message=result(states={"x": {}}))
    with_run(rig)
    good = Incoming(key=KEY, id="web1", message=result())
    rig.handlers.deliver([broken, good])
    assert rig.store.runs.get("1").state == "finished"


def test_replies_are_sent_after_all_of_a_batch_is_committed(rig, tmp_path, monkeypatch):
    other = zmq.curve_keypair()[0].decode()
    with_run(rig)
    with_run(rig, minion="web2", run_id="2")
    say(rig, Hello(id="web1", grains={}))
    say(rig, Hello(id="web2", grains={}), "web2", other)
    committed = []

    def send(key, message):
        with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as reader:
            committed.append([state for (state,) in reader.execute("SELECT state FROM runs ORDER BY run_id")])

    monkeypatch.setattr(rig.server, "send_all", lambda messages: [send(*each) for each in messages])
    first = Incoming(key=KEY, id="web1", message=result())
    rig.handlers.deliver([first, Incoming(key=other, id="web2", message=result(run_id="2"))])
    assert committed == [["finished", "finished"]] * 2


def test_what_a_message_wrote_before_it_failed_is_taken_back(rig, monkeypatch):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    rig.server.sent.clear()

    def ended(run, outcome, cause, back_from=""):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(rig.runs, "ended", ended)
        rig.handlers.deliver(
            [Incoming(key=KEY, id="web1", message=each) for each in (result(), Held(digest=DIGEST, generation=1))]
        )
    assert rig.store.runs.get("1").state == "requested"
    assert rig.store.minions.get("web1").held == DIGEST
    assert rig.server.sent == []


def test_nothing_is_acknowledged_while_the_store_cannot_be_written(rig, tmp_path):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    rig.server.sent.clear()
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        say(rig, result())
        assert rig.server.sent == []
    say(rig, result())
    assert rig.server.kinds() == ["ResultAck"]
    assert rig.runs.ended_runs == [("1", "changed")]


def test_a_result_counts_once_when_we_are_killed_between_commit_and_acknowledgement(rig, tmp_path, monkeypatch):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    child = os.fork()
    if child == 0:
        with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
            rig.handlers.context = rig.handlers.results.context = replace(rig.handlers.context, store=store)
            rig.handlers.states = replace(rig.handlers.states, context=rig.handlers.context)
            rig.server.send_all = lambda messages: os.kill(os.getpid(), signal.SIGKILL)
            say(rig, result())
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert rig.store.runs.get("1").state == "finished"
    rig.server.sent.clear()
    say(rig, result())
    assert rig.server.sent == [(KEY, ResultAck(run_id="1"))]
    assert rig.runs.ended_runs == []


QUESTION = FactQuery(fun="cmd.which", asked='[["sh"], {}]')


async def ask(rig, minion="web1"):
    say(rig, Hello(id=minion, grains={}), minion)
    assert rig.facts.send(minion, [QUESTION])
    rig.recompiled.clear()
    return next(message for _, message in rig.server.sent if type(message).__name__ == "FactRequest")


async def test_an_answer_is_kept_and_has_the_minion_compiled_again(rig):
    asked = await ask(rig)
    assert (asked.questions, asked.allowed) == ((QUESTION,), ("cmd.run",))
    say(rig, FactAnswers(request=asked.request, answers=(FactAnswer(value="/bin/sh"),)))
    assert rig.recompiled == ["web1"]
    assert rig.facts.recorded(["web1"]) == {"web1": {QUESTION: FactAnswer(value="/bin/sh")}}
    say(rig, FactAnswers(request=asked.request, answers=(FactAnswer(value="/late"),)))
    assert rig.facts.recorded(["web1"])["web1"][QUESTION].value == "/bin/sh", "an answer counts once"


async def test_nobody_answers_for_another_and_nothing_unasked_is_kept(rig):
    asked = await ask(rig)
    other = zmq.curve_keypair()[0].decode()
    say(rig, Hello(id="web2", grains={}), "web2", other)
    rig.recompiled.clear()
    say(rig, FactAnswers(request=asked.request, answers=(FactAnswer(value="/evil"),)), "web2", other)
    say(rig, FactAnswers(request=77, answers=(FactAnswer(value="/evil"),)))
    assert rig.facts.recorded(["web1", "web2"]) == {}
    assert rig.recompiled == []


async def test_a_mine_is_kept_as_its_senders_and_one_that_is_too_large_is_not(rig):
    say(rig, Hello(id="web1", grains={}))
    other = zmq.curve_keypair()[0].decode()
    say(rig, Hello(id="web2", grains={}), "web2", other)
    say(rig, Mine(entries={"addr": MineEntry(value="10.0.0.1")}))
    say(rig, Mine(entries={"addr": MineEntry(value="10.0.0.2")}), "web2", other)
    assert {name: each.value for name, each in rig.store.mines.by_function(["addr"])["addr"].items()} == {
        "web1": "10.0.0.1",
        "web2": "10.0.0.2",
    }
    say(rig, Mine(entries={"addr": MineEntry(value="x" * 100_000)}))
    say(rig, Mine(entries={"addr": MineEntry(value=nested(60))}))
    assert rig.store.mines.by_function(["addr"])["addr"]["web1"].value == "10.0.0.1"
    say(rig, GetMine(request=7, asked="no json"))
    say(rig, GetMine(request=8, asked='[["*", "addr"], {}]'))
    found = [message for _, message in rig.server.sent if isinstance(message, MineFound)]
    assert (found[0].request, bool(found[0].answer.error)) == (7, True)
    assert found[1].answer.value == {}, "of minions whose key is not accepted nobody hears"


def test_a_question_that_fails_is_refused_by_its_number(rig, monkeypatch):
    say(rig, Hello(id="web1", grains={}))
    rig.server.sent.clear()
    monkeypatch.setattr(MineStore, "answer_minion", lambda *_: 1 / 0)
    say(rig, GetMine(request=7, asked='[["*", "addr"], {}]'))
    assert rig.server.sent == [
        (KEY, Refused(message="the controller failed to answer; its log says why", request=7)),
    ]


def nested(depth):
    return [nested(depth - 1)] if depth else []


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ((), "gave no answer"),
        ((FactAnswer(value="x" * 70_000),), "gave more than"),
        ((FactAnswer(value=nested(60)),), "nested more than"),
    ],
)
async def test_what_is_no_answer_becomes_an_error(rig, answers, why):
    asked = await ask(rig)
    say(rig, FactAnswers(request=asked.request, answers=answers))
    (found,) = rig.facts.recorded(["web1"])["web1"].values()
    assert why in found.error
    assert found.value is None


async def test_what_was_recorded_stays_when_no_answer_comes(rig):
    asked = await ask(rig)
    assert rig.facts.time_out("web1")
    assert "did not answer" in rig.facts.recorded(["web1"])["web1"][QUESTION].error
    say(rig, FactAnswers(request=asked.request, answers=(FactAnswer(value="/late"),)))
    assert rig.recompiled == ["web1"], "it is late, and counts"
    assert rig.facts.recorded(["web1"])["web1"][QUESTION].value == "/late"
    say(rig, FactAnswers(request=asked.request, answers=(FactAnswer(value="/twice"),)))
    assert rig.recompiled == ["web1"]
    rig.store.facts.put("web1", {QUESTION: FactAnswer(value="/bin/sh")}, 1.0)
    assert rig.facts.repeatable(["web1"]) == {"web1": (QUESTION,)}
    assert rig.facts.send("web1", [QUESTION])
    assert not rig.facts.time_out("web1")
    assert rig.facts.recorded(["web1"])["web1"][QUESTION].value == "/bin/sh", "the last answer stays"
    assert asked.timeout == 10.0


async def test_a_late_answer_takes_the_place_of_no_newer_one(rig):
    late = await ask(rig)
    assert rig.facts.time_out("web1")
    assert rig.facts.send("web1", [QUESTION])
    newer = rig.server.sent[-1][1]
    say(rig, FactAnswers(request=newer.request, answers=(FactAnswer(value="/newer"),)))
    say(rig, FactAnswers(request=late.request, answers=(FactAnswer(value="/late"),)))
    assert rig.recompiled == ["web1"]
    assert rig.facts.recorded(["web1"])["web1"][QUESTION].value == "/newer"


def test_no_more_is_asked_than_a_minion_answers(rig):
    say(rig, Hello(id="web1", grains={}))
    many = [FactQuery(fun="cmd.which", asked=f'[["{number}"], {{}}]') for number in range(MOST_QUESTIONS)]
    assert not rig.facts.too_many("web1", many)
    rig.store.facts.put("web1", {QUESTION: FactAnswer(value="/bin/sh")}, 1.0)
    assert rig.facts.too_many("web1", many)


def test_progress_is_passed_on_of_own_runs_alone(rig):
    with_run(rig)
    with_run(rig, minion="db1", run_id="2")
    say(rig, Hello(id="web1", grains={}))
    heard = []
    rig.handlers.results.watchers["1"] = heard.append
    with rig.handlers.context.bus.subscribe("saltern/run/*/progress") as seen:
        said = RunProgress(run_id="1", done=12, total=40, key="pkg_|-nginx_|-nginx_|-installed", seconds=3.5)
        say(rig, said)
        say(rig, said)  # too soon after the first
        say(rig, RunProgress(run_id="2", done=1, total=2, key="x"))
        say(rig, RunProgress(run_id="nowhere", done=1, total=2, key="x"))
        say(rig, RunProgress(run_id="drift-web1-1", done=1, total=2, key="x"))
        events = seen.drain()
    assert [event.tag for event in events] == ["saltern/run/1/progress", "saltern/run/drift-web1-1/progress"]
    assert events[0].data["text"] == "12/40 nginx (pkg.installed)"
    assert heard == [said]
    session = rig.handlers.context.sessions.session("web1")
    say(rig, result("1"))
    assert list(session.progress) == ["drift-web1-1"]
    say(rig, said)  # late: the run is over
    assert list(session.progress) == ["drift-web1-1"]
    for number in range(100):
        say(rig, RunProgress(run_id=f"drift-{number}", done=1, total=2, key="x"))
    assert len(session.progress) == 16


def test_what_a_minion_still_has_to_do_is_in_its_status(rig):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    say(rig, KeepAlive(held=DIGEST, pending_triggers=("service_|-nginx_|-nginx_|-running",)))
    session = rig.handlers.context.sessions.session("web1")
    assert (session.pending_triggers, session.held) == (("service_|-nginx_|-nginx_|-running",), DIGEST)
    say(rig, KeepAlive(held=DIGEST))
    assert session.pending_triggers == ()


async def answered(rig):
    """The answers to questions for states, once all are given."""
    while rig.handlers.answers.states._tasks:
        await asyncio.sleep(0)
    return [message for _, message in rig.server.sent if isinstance(message, StatesFound | Refused)]


async def test_a_minion_asks_for_states_of_its_own_alone(rig):
    say(rig, Hello(id="web1", grains={}))
    say(rig, GetStates(request=3, mods=("extra",), pillar={"a": 1}))
    said = await answered(rig)
    assert said == [StatesFound(request=3, errors=("x.sls: web1 ('extra',) base {} True",))]
    rig.server.sent.clear()
    say(rig, GetStates(request=4, mods=("extra",), saltenv="secret"))
    (refused,) = await answered(rig)
    assert (refused.request, "no state of this minion comes from the saltenv 'secret'" in refused.message) == (4, True)


async def test_a_minion_asks_for_states_one_at_a_time_and_not_too_often(rig):
    say(rig, Hello(id="web1", grains={}))
    rig.server.sent.clear()
    say(rig, GetStates(request=1, mods=("a",)))
    say(rig, GetStates(request=2, mods=("a",)))
    assert [type(one) for one in await answered(rig)] == [Refused, StatesFound], "the second waited for nothing"
    say(rig, GetStates(request=3, mods=("a",)))
    say(rig, GetStates(request=4, mods=("a",)))
    await answered(rig)
    rig.server.sent.clear()
    say(rig, GetStates(request=5, mods=("a",)))
    (refused,) = await answered(rig)
    assert (refused.request, "asked too often" in refused.message) == (5, True)
    assert rig.handlers.context.metrics.limit_refusals("minion")["state-questions"] == 3


def set_signs_of_life(rig, signs):
    rig.handlers.replies = replace(rig.handlers.replies, signs_of_life=signs)
    rig.handlers.greetings = replace(rig.handlers.greetings, replies=rig.handlers.replies)


def test_minions_of_a_large_fleet_give_signs_of_life_less_often(rig):
    """4 minions and one sign a second of them all: every 4 s, and each may be silent for so much longer."""
    signs = SignsOfLife(interval=2.0, timeout=10.0, rate=1.0)
    set_signs_of_life(rig, signs)
    sessions = rig.handlers.context.sessions
    say(rig, Hello(id="web1", grains={}, takes=(SETS_INTERVAL,)))
    assert rig.server.sent[-1][1].alive_interval == 2.0
    for number in range(3):
        sessions.connect(Session(minion=f"db{number}", key=f"k{number}", session="", grains={}, seen=1.0, heard=99.0))
    say(rig, KeepAlive())
    assert rig.server.sent[-1] == (KEY, AliveInterval(seconds=4.0))
    say(rig, KeepAlive())
    assert rig.server.kinds() == ["HelloAck", "AliveInterval"]
    rig.handlers.expire(now=12.5)
    assert sessions.session("web1") is not None
    rig.handlers.expire(now=13.5)
    assert sessions.session("web1") is None


def test_a_minion_that_does_not_know_it_is_told_no_other_interval(rig):
    signs = SignsOfLife(interval=2.0, timeout=10.0, rate=1.0)
    set_signs_of_life(rig, signs)
    say(rig, Hello(id="web1", grains={}))
    for number in range(3):
        session = Session(minion=f"db{number}", key=f"k{number}", session="", grains={}, seen=1.0)
        rig.handlers.context.sessions.connect(session)
    say(rig, KeepAlive())
    assert rig.server.kinds() == ["HelloAck"]
