"""The shell of the decision, against a real store: what is sent, recorded, published and asked for again."""

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.policy.policy import DriftPolicy, Policy
from controller.reconcile.deciding.instructions import AfterRun, Declined
from controller.reconcile.deciding.observed_state import Request
from controller.reconcile.documents import Documents
from controller.reconcile.jids import Jids
from controller.reconcile.live import LiveRevision
from controller.reconcile.reconciler import RETRY_SECONDS, Reconciler
from controller.sessions.room import Room
from controller.sessions.sessions import Session, Sessions
from controller.store import NEVER_BEGUN, DesiredRecord, RevisionRecord, RunRecord, Store, StoreUnavailable
from controller.store.minions import Minions
from controller.store.run_tables.runs import Runs
from reactors.bus import Bus
from reactors.remediation import AutonomyRules, digest_of_rules
from wire.errors import MalformedMessage
from wire.messages import CHECKS_RUNS, HEALS_ALONE, Autonomy, CheckCalls, DesiredUpdate, Run

NOW = 1000.0
PENDING = Request(whole=False, test=False)


def document(*contents: str) -> bytes:
    """A packed document with a chunk for each content."""
    chunks = {
        f"file_|-f{number}_|-/f{number}_|-managed": {
            "state": "file", "fun": "managed", "__id__": f"f{number}", "name": f"/f{number}", "order": number,
            "__sls__": "a", "__env__": "base", "contents": content,
        }
        for number, content in enumerate(contents)
    }  # fmt: skip
    return msgspec.msgpack.encode({"pillar": {}, "chunks": chunks, "files": {}, "contents": {}, "drift": {}})


@pytest.fixture
def rig(tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        clock, sent = SimpleNamespace(now=NOW), []
        sessions, bus = Sessions(), Bus(lambda: clock.now)
        server = SimpleNamespace(send=lambda key, message: sent.append(message))
        reconciler = Reconciler(
            store=store,
            sessions=sessions,
            server=server,
            documents=Documents(store),
            bus=bus,
            metrics=Metrics(lambda: clock.now),
            redactor=Redactor(store, "key"),
            ids=Jids(lambda: clock.now),
            clock=lambda: clock.now,
            run_timeout=60.0,
        )
        make_live(reconciler, "r1")
        store.minions.seen("web1", NOW, grains={"id": "web1"})
        yield SimpleNamespace(reconciler=reconciler, store=store, sessions=sessions, bus=bus, sent=sent, clock=clock)


def make_live(reconciler, digest, policy=None):
    reconciler.live.take(SimpleNamespace(revision=SimpleNamespace(digest=digest, id=digest)), policy or Policy())


def connect(rig, held=""):
    session = Session(minion="web1", key="k" * 40, session="s", grains={}, seen=NOW, held=held)
    rig.sessions.connect(session)
    return session


def compiled(rig, generation, *contents):
    """A new document, of a revision of the same number, which is live."""
    make_live(rig.reconciler, f"r{generation}", rig.reconciler.live.policy)
    digest = str(generation) * 64
    rig.store.revisions.add(RevisionRecord(digest=f"r{generation}", label=f"rev{generation}", first_seen=NOW))
    rig.store.desired.put(
        [
            DesiredRecord(
                minion="web1",
                generation=generation,
                revision=f"r{generation}",
                compiled_revision=f"r{generation}",
                digest=digest,
                document=document(*contents),
            )
        ]
    )
    return digest


def step(rig):
    """Reconcile; what was sent."""
    rig.sent.clear()
    rig.reconciler.step(["web1"])
    return list(rig.sent)


def end(rig, run_id, outcome, cause=0):
    """The result of a run comes."""
    run = rig.store.runs.get(run_id)
    rig.store.runs.finish(run_id, outcome, finished=rig.clock.now)
    rig.reconciler.ended(run, outcome, cause)


def applied(rig, *contents):
    """A minion that has applied its first document."""
    connect(rig)
    digest = compiled(rig, 1, *contents)
    _, run = step(rig)
    end(rig, run.run_id, "changed")
    rig.sessions.session("web1").held = digest
    return digest


def test_the_first_document_is_sent_and_applied_whole(rig):
    connect(rig)
    digest = compiled(rig, 1, "a")
    with rig.bus.subscribe() as seen:
        rig.reconciler.wake(["web1"], cause=41)
        document_sent, run = step(rig)
        assert isinstance(document_sent, DesiredUpdate)
        assert isinstance(run, Run)
        assert (run.kind, run.keys, run.digest) == ("apply", None, digest)
        assert step(rig) == [], "once"
        end(rig, run.run_id, "ok", cause=43)
        new, done = seen.drain()
    assert (new.tag, new.cause, new.revision) == (f"saltern/run/{run.run_id}/new", 41, "rev1")
    assert (done.tag, done.cause) == ("saltern/minion/web1/applied", 43)
    assert rig.store.applied.get("web1").digest == digest


def test_a_whole_document_waits_until_there_is_room(rig):
    connect(rig)
    compiled(rig, 1, "a")
    free = Switch(False)
    rig.reconciler.room = Room(free)
    assert step(rig) == []
    assert rig.store.runs.open("web1") == []
    assert rig.reconciler.room.next(10) == []
    assert step(rig) == [], "it is looked at again, and waits on"
    free.on = True
    assert rig.reconciler.room.next(10) == ["web1"]
    document_sent, run = step(rig)
    assert (type(document_sent), type(run)) == (DesiredUpdate, Run)
    assert len(rig.reconciler.room) == 0


async def test_who_waits_for_room_is_looked_at_again_when_there_is_some(rig):
    connect(rig)
    compiled(rig, 1, "a")
    free = Switch(False)
    rig.reconciler.room = Room(free)
    rig.reconciler.clock = rig.reconciler._queue._clock = time.time
    working = asyncio.create_task(rig.reconciler.run())
    rig.reconciler.wake(["web1"])
    while free.asked < 3:
        await asyncio.sleep(0.01)
    assert rig.sent == []
    free.on = True
    while not rig.sent:
        await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.wait([working])


def test_what_is_new_in_a_document_and_what_somebody_asks_for_wait_for_no_room(rig):
    applied(rig, "a", "b")
    rig.reconciler.room = Room(Switch(False))
    compiled(rig, 2, "a", "other")
    document_sent, _ = step(rig)
    assert document_sent.base == "1" * 64
    end(rig, rig.store.runs.open("web1")[0].run_id, "changed")
    connect(rig)
    assert step(rig) == [], "all of it"
    rig.reconciler.request(["web1"], Request(whole=True, test=False))
    assert any(isinstance(each, DesiredUpdate) for each in rig.sent)


def test_who_is_deleted_while_its_document_waits_waits_no_more(rig):
    connect(rig)
    compiled(rig, 1, "a")
    rig.reconciler.room = Room(Switch(False))
    step(rig)
    assert len(rig.reconciler.room) == 1
    rig.store.minions.delete("web1")
    assert step(rig) == []
    assert len(rig.reconciler.room) == 0


class Switch:
    """Whether there is room."""

    def __init__(self, on):
        self.on, self.asked = on, 0

    def __call__(self):
        self.asked += 1
        return self.on


def test_a_push_runs_what_it_changes(rig):
    applied(rig, "a", "b")
    compiled(rig, 2, "a", "other")
    document_sent, run = step(rig)
    assert document_sent.base == "1" * 64, "as a patch"
    assert run.keys == ("file_|-f1_|-/f1_|-managed",)


def test_a_document_with_nothing_to_run_is_applied_at_once(rig):
    applied(rig, "a", "b")
    compiled(rig, 2, "a")
    [document_sent] = step(rig)
    assert isinstance(document_sent, DesiredUpdate)
    assert rig.store.applied.get("web1").generation == 2


def test_a_failed_run_is_tried_again_later_and_whole(rig):
    applied(rig, "a", "b")
    compiled(rig, 2, "a", "other")
    first = step(rig)[-1]
    end(rig, first.run_id, "failed", cause=51)
    assert step(rig) == []
    rig.clock.now += 31
    with rig.bus.subscribe("saltern/run/*/new") as seen:
        [again] = step(rig)
        [event] = seen.drain()
    assert again.keys is None
    assert event.cause == 51, "it follows from the failure"
    assert rig.reconciler.observed(rig.store.minions.status(["web1"])[0]).last_run.failures == 1


def test_drift_is_remediated_when_policy_says_so(rig):
    digest = applied(rig, "a")
    rig.clock.now += 1
    report = RunRecord(run_id="drift-1", minion="web1", kind="drift", created=rig.clock.now, digest=digest, test=True)
    rig.store.runs.create(report)
    end(rig, "drift-1", "pending", cause=61)
    assert step(rig) == []
    rig.reconciler.live.policy = Policy(drift=DriftPolicy(mode="remediate"))
    with rig.bus.subscribe("saltern/run/*/new") as seen:
        [run] = step(rig)
        [event] = seen.drain()
    assert (run.kind, run.keys, event.cause) == ("remediate", None, 61)


def test_a_run_without_a_result_is_closed(rig):
    connect(rig)
    compiled(rig, 1, "a")
    run = step(rig)[-1]
    rig.clock.now += 61
    with rig.bus.subscribe("saltern/run/*/lost") as seen:
        assert step(rig) == []
        [lost] = seen.drain()
    assert lost.cause > 0
    assert rig.store.runs.get(run.run_id).outcome == "lost"


def test_after_a_new_connection_the_run_is_sent_again(rig):
    connect(rig)
    compiled(rig, 1, "a")
    run = step(rig)[-1]
    connect(rig)
    again = step(rig)
    assert [type(message) for message in again] == [DesiredUpdate, Run]
    assert again[-1].run_id == run.run_id
    assert len(rig.store.runs.newest()) == 1


def test_a_run_that_was_lost_on_its_way_begins_no_more_where_the_minion_is_paused_now(rig):
    applied(rig, "a")
    compiled(rig, 2, "b")
    run = step(rig)[-1]
    rig.store.minions.set_paused(["web1"], True)
    connect(rig, held="1" * 64).takes = frozenset({CHECKS_RUNS})
    assert step(rig) == [CheckCalls(run_ids=(run.run_id,))]
    rig.store.runs.finish(run.run_id, "error", finished=rig.clock.now, ending=NEVER_BEGUN)
    rig.reconciler.never_began(rig.store.runs.get(run.run_id))
    assert step(rig) == []
    rig.store.minions.set_paused(["web1"], False)
    again = step(rig)[-1]
    assert (again.kind, again.digest, again.keys) == ("apply", run.digest, run.keys), "as if it had not been asked for"
    assert again.run_id != run.run_id


def checking(rig):
    """A minion that is asked for the check after a push of a part; the check."""
    applied(rig, "a", "b")
    digest = compiled(rig, 2, "a", "other")
    run = step(rig)[-1]
    end(rig, run.run_id, "changed")
    rig.sessions.session("web1").held = digest
    (check,) = step(rig)
    assert (check.kind, check.test) == ("drift", True)
    return check


def test_a_check_that_may_be_lost_with_its_connection_is_asked_for_again(rig):
    check = checking(rig)
    connect(rig, held="2" * 64)
    assert [message.run_id for message in step(rig)] == [check.run_id]
    assert step(rig) == [], "once on a connection"
    end(rig, check.run_id, "ok")
    connect(rig, held="2" * 64)
    assert step(rig) == []


def test_a_check_that_was_open_when_the_controller_ended_is_asked_for_again_and_given_up_in_the_end(rig):
    check = checking(rig)
    rig.reconciler = replace(rig.reconciler)  # it remembers nothing but what the store has
    connect(rig, held="2" * 64)
    assert [message.run_id for message in step(rig)] == [check.run_id], "and no other check is begun"
    rig.clock.now += 61
    step(rig)
    assert rig.store.runs.get(check.run_id).outcome == "lost"
    (row,) = rig.store.minions.status(["web1"])
    assert row.last_drift is None, "it says nothing of the machine"


def test_what_a_person_asks_for_is_decided_at_once(rig):
    def request(**more):
        return rig.reconciler.request(["web1"], Request(**{"whole": False, "test": False, **more}), 71)["web1"]

    assert request() is Declined.UNREACHABLE
    applied(rig, "a", "b")
    assert request() is Declined.NOTHING_PENDING
    rig.reconciler.live.policy = Policy(apply="manual")
    compiled(rig, 2, "a", "other")
    assert step(rig) == [], "drift is looked for in what was applied"
    rig.store.minions.set_paused(["web1"], True)
    assert request() is Declined.PAUSED
    with rig.bus.subscribe("saltern/run/*/new") as seen:
        tested = request(test=True)
        [event] = seen.drain()
    assert event.cause == 71
    record = rig.store.runs.get(tested)
    assert (record.kind, record.test, record.keys) == ("preview", True, ("file_|-f1_|-/f1_|-managed",))
    rig.store.minions.set_paused(["web1"], False)
    run = request()
    assert rig.store.runs.get(run).keys == ("file_|-f1_|-/f1_|-managed",)
    assert request() == run, "it joins the run in progress"
    assert request(whole=True) == AfterRun(run), "a run of a part does not answer for the whole"
    assert request(test=True) == AfterRun(run), "what a run did is no answer to what it would do"
    end(rig, run, "ok")
    assert rig.store.runs.get(request(whole=True)).keys is None
    assert rig.reconciler.observed(rig.store.minions.status(["web1"])[0]).request is None


def test_a_push_that_lifts_manual_does_not_start_what_it_replaces(rig):
    applied(rig, "a", "b")
    make_live(rig.reconciler, "r2", Policy(apply="manual"))
    compiled(rig, 2, "a", "waits")
    assert step(rig) == []
    make_live(rig.reconciler, "r3")
    assert step(rig) == [], "the new revision is not compiled for it yet"
    make_live(rig.reconciler, "r4")
    assert step(rig) == [], "nor is one that came meanwhile"
    compiled(rig, 4, "new", "waits")
    _, run = step(rig)
    assert run.keys == ("file_|-f0_|-/f0_|-managed", "file_|-f1_|-/f1_|-managed")


def test_after_a_restart_nothing_starts_under_the_policy_of_another_revision(rig):
    applied(rig, "a", "b")
    compiled(rig, 2, "a", "waits")
    rig.reconciler.live = LiveRevision()
    assert step(rig) == [], "nothing is read yet"
    make_live(rig.reconciler, "r3")
    assert step(rig) == [], "its document is of a revision whose policy nobody knows"
    compiled(rig, 3, "a", "waits")
    assert len(step(rig)) == 2


async def test_a_store_that_does_not_answer_is_tried_again(rig, monkeypatch):
    connect(rig)
    compiled(rig, 1, "a")

    def locked(table, minions):
        raise StoreUnavailable("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(Minions, "status", locked)
        assert step(rig) == []
    rig.clock.now += RETRY_SECONDS
    assert await rig.reconciler._queue.take() == {"web1"}


async def test_no_run_is_asked_for_that_cannot_be_recorded(rig, monkeypatch):
    session = connect(rig)
    digest = compiled(rig, 1, "a")

    def full(table, runs):
        raise StoreUnavailable("disk is full")

    with monkeypatch.context() as patch, rig.bus.subscribe() as seen:
        patch.setattr(Runs, "create_all", full)
        assert step(rig) == []
        assert seen.drain() == [], "nobody sees an event of what is not stored"
    assert (session.sent, session.sent_digest) == (set(), "")
    rig.clock.now += RETRY_SECONDS
    assert await rig.reconciler._queue.take() == {"web1"}
    document_sent, run = step(rig)
    assert (document_sent.digest, rig.store.runs.get(run.run_id).digest) == (digest, digest)


async def test_a_message_that_cannot_be_sent_costs_its_own_minion(rig, monkeypatch):
    connect(rig)
    compiled(rig, 1, "a")
    rig.store.minions.seen("web2", NOW, grains={})
    rig.sessions.connect(Session(minion="web2", key="l" * 40, session="s", grains={}, seen=NOW, autonomy="unknown",
                                 takes=frozenset({HEALS_ALONE})))  # fmt: skip
    send = rig.reconciler.server.send

    def too_large(key, message):
        if isinstance(message, DesiredUpdate):
            raise MalformedMessage("too large")
        send(key, message)

    with monkeypatch.context() as patch:
        patch.setattr(rig.reconciler.server, "send", too_large)
        rig.reconciler.step(["web1", "web2"])
    assert [type(each) for each in rig.sent] == [Autonomy], "no run without its document"
    rig.clock.now += RETRY_SECONDS
    assert await rig.reconciler._queue.take() == {"web1"}
    assert [type(each) for each in step(rig)] == [DesiredUpdate, Run]
    assert len(rig.store.runs.open("web1")) == 1


async def test_one_minion_that_breaks_keeps_no_other_waiting(rig, monkeypatch):
    connect(rig)
    compiled(rig, 1, "a")
    rig.store.minions.seen("broken", NOW, grains={})
    policy_of = rig.reconciler.policy_of
    monkeypatch.setattr(Reconciler, "policy_of", lambda _, row: 1 / 0 if row.minion.id == "broken" else policy_of(row))
    rig.reconciler.step(["broken", "web1"])
    assert len(rig.sent) == 2
    rig.clock.now += RETRY_SECONDS
    assert await rig.reconciler._queue.take() == {"broken"}


def healed_alone(rig, number, digest, outcome):
    """A minion tells of a run that it began by itself."""
    run = RunRecord(run_id=f"heal-web1-{number}", minion="web1", kind="remediate", created=rig.clock.now, digest=digest)
    rig.store.runs.create(run)
    rig.reconciler.causes.minion_remediated(run, "drift-web1-1")
    end(rig, run.run_id, outcome, rig.reconciler.causes.run_event(run))


def test_rules_for_a_minion_that_will_be_alone_are_told_once_and_before_all_else(rig):
    rig.reconciler.live.policy = Policy(drift=DriftPolicy(mode="remediate"))
    session = connect(rig)
    session.takes = frozenset((HEALS_ALONE,))
    compiled(rig, 1, "a")
    told, document_sent, run = step(rig)
    assert isinstance(told, Autonomy)
    assert (told.digest, told.rules["after"]) == (digest_of_rules(AutonomyRules(after=300.0)), 300.0)
    assert (type(document_sent), type(run)) == (DesiredUpdate, Run)
    assert step(rig) == []


def test_what_a_minion_healed_alone_is_the_state_of_it_and_counts_once(rig):
    digest = applied(rig, "a")
    with rig.bus.subscribe("saltern/minion/web1/*") as seen:
        healed_alone(rig, 1, digest, "changed")
        told, done = seen.drain()
    assert (told.tag, told.data["drift"]) == ("saltern/minion/web1/remediated", "drift-web1-1")
    assert (done.tag, done.cause) == ("saltern/minion/web1/applied", told.id)
    assert rig.store.applied.get("web1").digest == digest
    assert rig.reconciler._remediations["web1"].count == 1
    assert step(rig) == [], "nothing is to be done again"


def test_what_failed_alone_is_gone_on_with_after_the_pause(rig):
    digest = applied(rig, "a")
    healed_alone(rig, 1, digest, "failed")
    healed_alone(rig, 2, digest, "failed")
    assert rig.reconciler._failures["web1"].count == 2
    assert step(rig) == []
    rig.clock.now += 61.0
    [run] = step(rig)
    assert (run.kind, run.digest) == ("apply", digest)


def test_what_a_minion_healed_before_a_push_was_applied_takes_nothing_back(rig):
    old = applied(rig, "a")
    new = compiled(rig, 2, "b")
    _, run = step(rig)
    end(rig, run.run_id, "changed")
    healed_alone(rig, 1, old, "changed")
    healed_alone(rig, 2, old, "failed")
    assert rig.store.applied.get("web1").digest == new
    assert rig.reconciler._failures == {}
