"""What minions say, against a real store: once is once, nobody speaks for another, and nothing hostile gets in."""

import asyncio
import contextlib
import os
import signal
import sqlite3
from types import SimpleNamespace

import pytest
import zmq

from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.reconcile.live import LiveRevision
from controller.reconcile.policy import Policy
from controller.sessions.after_commit import AfterCommit
from controller.sessions.file_server import FileServer
from controller.sessions.message_handlers import MessageHandlers
from controller.sessions.run_results import RunResults
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.store import DesiredRecord, RunRecord, Store, database
from minion.agent.fact_queries import MOST_QUESTIONS
from reactors.bus import Bus
from wire.messages import (
    Bye,
    FactAnswer,
    FactAnswers,
    FactQuery,
    FindFile,
    GetBlob,
    GetMine,
    Held,
    Hello,
    HelloAck,
    KeepAlive,
    KeyRequest,
    KeyState,
    Mine,
    MineEntry,
    MineFound,
    ResultAck,
    RunProgress,
    RunResult,
)
from wire.server.types import Gone, Incoming

KEY = zmq.curve_keypair()[0].decode()
DIGEST = "a" * 64
RUNNING = {"file_|-a_|-a_|-managed": {"result": True, "changes": {"diff": "x"}, "comment": ""}}


class Outbox:
    """Where messages to minions end."""

    def __init__(self):
        self.sent = []

    def send(self, key, message):
        self.sent.append((key, message))

    def kinds(self):
        return [type(message).__name__ for _, message in self.sent]


class Runs:
    """The reconciler of runs, as far as messages tell it anything."""

    def __init__(self):
        self.woken, self.ended_runs = [], []

    def wake(self, minions, cause=0):
        self.woken += minions

    def run_event(self, run):
        return 7

    def open_run_event(self, run_id):
        return 7

    def ended(self, run, outcome, cause=0):
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
        if self.facts.answered(minion, key, message) is not None:
            self.recompiled.append(minion)


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
        bus, redactor, after_commit = Bus(lambda: 1.0), Redactor(store, "key"), AfterCommit()
        results = RunResults(
            store=store,
            sessions=sessions,
            reconciler=runs,
            bus=bus,
            metrics=metrics,
            redactor=redactor,
            clock=lambda: 1.0,
            keep_runs=5,
            after_commit=after_commit,
        )
        handlers = MessageHandlers(
            store=store,
            sessions=sessions,
            keyring=KeyRegistry(),
            server=server,
            reconciler=runs,
            bus=bus,
            metrics=metrics,
            files=FileServer(),
            builds=builds,
            mines=MineStore(store=store, pillar_of=lambda minion: {}),
            redactor=redactor,
            clock=lambda: 1.0,
            epoch="epoch",
            alive_interval=15.0,
            auto_accept=False,
            results=results,
            after_commit=after_commit,
        )
        yield SimpleNamespace(
            handlers=handlers,
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


def with_run(rig, minion="web1", run_id="1"):
    rig.store.minions.seen(minion, 1.0, grains={"id": minion})
    rig.store.desired.put([DesiredRecord(minion=minion, generation=1, revision="r1", digest=DIGEST, document=b"\x80")])
    rig.store.runs.create(RunRecord(run_id=run_id, minion=minion, kind="apply", created=1.0, digest=DIGEST))


def test_a_stranger_gets_no_more_than_where_its_key_stands(rig):
    say(rig, KeyRequest(id="web1"), minion=None)
    assert rig.server.sent == [(KEY, KeyState(state="pending"))]
    say(rig, Hello(id="web1", grains={}), minion=None)
    assert len(rig.server.sent) == 1


def test_hello_connects_and_asks_for_a_compile(rig):
    say(rig, Hello(id="web1", grains={"os": "Debian"}, held="no digest\n" * 100, session="s" * 1000))
    assert rig.server.sent == [(KEY, HelloAck(epoch="epoch", alive_interval=15.0))]
    assert rig.recompiled == ["web1"]
    record = rig.store.minions.get("web1")
    assert (record.grains, record.held, len(record.session)) == ({"os": "Debian"}, "", 64)


def test_who_connects_with_the_same_grains_is_not_compiled_again(rig):
    with_run(rig)
    rig.store.minions.seen("web1", 1.0, grains={"id": "web1"})
    say(rig, Hello(id="web1", grains={"id": "web1"}))
    assert rig.recompiled == []
    assert rig.builds.connections == ["web1"]
    assert rig.runs.woken == ["web1"]


def test_a_message_from_before_our_start_is_answered_with_a_welcome(rig):
    say(rig, KeepAlive(held=DIGEST))
    assert rig.server.kinds() == ["HelloAck"]


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


def test_nobody_reports_a_run_of_another(rig):
    with_run(rig, minion="db1")
    say(rig, Hello(id="web1", grains={}))
    say(rig, result())
    assert rig.runs.ended_runs == []
    assert rig.store.runs.get("1").state == "requested"
    say(rig, result(run_id="nobody asked"))
    assert rig.store.runs.get("nobody asked") is None


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
        assert (run.kind, run.cause, run.outcome, run.test) == ("call", "schedule", "ok", False)


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
    assert rig.handlers.sessions.session("web1") is None
    say(rig, Hello(id="web1", grains={}))
    rig.handlers.deliver([Gone(key=KEY)])
    assert rig.handlers.sessions.session("web1") is None
    say(rig, Hello(id="web1", grains={}))
    rig.handlers.expire(since=0.5)
    assert rig.handlers.sessions.session("web1") is not None
    rig.handlers.expire(since=2.0)
    assert rig.handlers.sessions.session("web1") is None


def test_files_without_a_tree_are_not_found(rig):
    say(rig, Hello(id="web1", grains={}))
    say(rig, FindFile(request=7, path="../../etc/shadow"))
    say(rig, GetBlob(request=8, oid="0" * 40))
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

    monkeypatch.setattr(rig.server, "send", send)
    first = Incoming(key=KEY, id="web1", message=result())
    rig.handlers.deliver([first, Incoming(key=other, id="web2", message=result(run_id="2"))])
    assert committed == [["finished", "finished"]] * 2


def test_what_a_message_wrote_before_it_failed_is_taken_back(rig, monkeypatch):
    with_run(rig)
    say(rig, Hello(id="web1", grains={}))
    rig.server.sent.clear()

    def ended(run, outcome, cause):
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
            rig.handlers.store = store
            rig.server.send = lambda key, message: os.kill(os.getpid(), signal.SIGKILL)
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
    assert rig.recompiled == [], "it is too late"
    rig.store.facts.put("web1", {QUESTION: FactAnswer(value="/bin/sh")}, 1.0)
    assert rig.facts.repeatable(["web1"]) == {"web1": (QUESTION,)}
    assert rig.facts.send("web1", [QUESTION])
    assert not rig.facts.time_out("web1")
    assert rig.facts.recorded(["web1"])["web1"][QUESTION].value == "/bin/sh", "the last answer stays"
    assert asked.timeout == 10.0


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
    with rig.handlers.bus.subscribe("salt/job/*/prog/*") as seen:
        said = RunProgress(run_id="1", done=12, total=40, key="pkg_|-nginx_|-nginx_|-installed", seconds=3.5)
        say(rig, said)
        say(rig, said)  # too soon after the first
        say(rig, RunProgress(run_id="2", done=1, total=2, key="x"))
        say(rig, RunProgress(run_id="nowhere", done=1, total=2, key="x"))
        say(rig, RunProgress(run_id="drift-web1-1", done=1, total=2, key="x"))
        events = list(seen._queue)
    assert [event.tag for event in events] == ["salt/job/1/prog/web1/12", "salt/job/drift-web1-1/prog/web1/1"]
    assert events[0].data["text"] == "12/40 nginx (pkg.installed)"
    assert heard == [said]
    session = rig.handlers.sessions.session("web1")
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
    session = rig.handlers.sessions.session("web1")
    assert (session.pending_triggers, session.held) == (("service_|-nginx_|-nginx_|-running",), DIGEST)
    say(rig, KeepAlive(held=DIGEST))
    assert session.pending_triggers == ()
