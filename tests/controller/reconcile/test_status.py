"""What a status line says of a minion that is at work, and of one that still has to act on a change."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.policy.policy import DriftPolicy, Policy
from controller.reconcile.documents import Documents
from controller.reconcile.jids import Jids
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.status import Status
from controller.sessions.sessions import KeyRegistry, Progress, Session, Sessions
from controller.store import AppliedRecord, DesiredRecord, KeyRecord, RunRecord, Store
from reactors.bus import Bus
from wire.messages import RunProgress

KEY = "k" * 40
KEY_FACTS = {"fingerprint": "aa", "first_seen": 1.0, "changed": 1.0}
NGINX = "service_|-web_|-nginx_|-running"
CONF = "file_|-conf_|-/etc/nginx.conf_|-managed"


class Unsent:
    def send(self, key, message):
        raise AssertionError("a status says nothing to minions")


def take(reconciler, digest, policy):
    """Make a revision live."""
    reconciler.live.take(SimpleNamespace(revision=SimpleNamespace(digest=digest, id=digest)), policy)


@pytest.fixture
def status(tmp_path: Path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        sessions, documents = Sessions(), Documents(store)
        store.minions.seen("web1", 1.0, grains={"id": "web1"})
        record = DesiredRecord(minion="web1", generation=1, revision="r1", digest="d" * 64, document=b"\x80")
        store.desired.put([record])
        store.applied.put(
            AppliedRecord(minion="web1", digest=record.digest, generation=1, revision="r1", at=1.0, outcome="ok")
        )
        reconciler = Reconciler(
            store=store,
            sessions=sessions,
            server=Unsent(),
            documents=documents,
            bus=Bus(lambda: 1.0),
            metrics=Metrics(lambda: 1.0),
            redactor=Redactor(store, "key"),
            ids=Jids(lambda: 1.0),
            clock=lambda: 1.0,
            run_timeout=60.0,
        )
        take(reconciler, "r1", Policy())
        yield Status(
            store=store,
            sessions=sessions,
            reconciler=reconciler,
            documents=documents,
            redactor=Redactor(store, "key"),
            keyring=KeyRegistry([KeyRecord(public_key=KEY, id="web1", state="accepted", **KEY_FACTS)]),
            read_blob=lambda oid, length: None,
        )


def connected(status, **more):
    status.sessions.connect(Session(minion="web1", key=KEY, session="s", grains={}, seen=1.0, **more))
    [line] = status.minions(["web1"])
    return line


def test_a_run_that_goes_on_is_the_message(status):
    said = RunProgress(run_id="1", done=12, total=40, key=NGINX, seconds=3.0)
    line = connected(status, progress={"1": Progress(said=said, at=1.0, acts=True)}, pending_triggers=(CONF,))
    assert line.running == ("12/40 web (service.running)",)
    assert line.message == "running: 12/40 web (service.running)"
    assert line.health == "Progressing"
    assert [each.health for each in status.samples()] == ["Progressing"]


def test_a_check_that_goes_on_is_no_run(status):
    said = RunProgress(run_id="1", done=12, total=40, key=NGINX, seconds=3.0)
    line = connected(status, progress={"1": Progress(said=said, at=1.0, acts=False)})
    assert (line.message, line.health) == ("checking: 12/40 web (service.running)", "Healthy")


@pytest.mark.parametrize(
    ("pending_triggers", "message"),
    [
        ((), ""),
        ((NGINX,), "still to act on a change: web (service.running)"),
        ((NGINX, CONF), "still to act on a change: web (service.running) (+1 more)"),
    ],
)
def test_what_is_owed_is_the_message_where_nothing_else_is(status, pending_triggers, message):
    line = connected(status, pending_triggers=pending_triggers)
    assert line.message == message
    assert len(line.pending_triggers) == len(pending_triggers)


def test_what_is_wrong_with_its_configuration_is_the_message_where_nothing_else_is(status):
    line = connected(status, problems=("minion:3: beacon lod: there is none", "b"))
    assert line.message == "configuration: minion:3: beacon lod: there is none (+1 more)"
    assert line.problems == ("minion:3: beacon lod: there is none", "b")


def test_one_that_is_away_owes_and_runs_nothing_that_is_known(status):
    [line] = status.minions(["web1"])
    assert (line.connected, line.running, line.pending_triggers) == (False, (), ())


def test_one_that_was_accepted_is_there_before_it_connects(status):
    status.keyring.put(KeyRecord(public_key="n" * 40, id="db1", state="accepted", **KEY_FACTS))
    lines = {line.minion: (line.health, line.message) for line in status.minions()}
    assert lines["db1"] == ("Unreachable", "accepted; has not connected yet")
    assert [line.minion for line in status.minions(["db1"])] == ["db1"]


def test_one_that_was_rejected_is_shown_as_that(status):
    status.keyring.put(KeyRecord(public_key=KEY, id="web1", state="rejected", **KEY_FACTS))
    assert [line.message for line in status.minions()] == ["its key is rejected: saltern key list"]


@pytest.mark.parametrize(
    ("apply", "message"), [("auto", "applies when it connects"), ("manual", "waits for `saltern sync`")]
)
def test_what_one_that_is_away_waits_for(status, apply, message):
    fresh = DesiredRecord(minion="web1", generation=2, revision="r2", digest="e" * 64, document=b"\x80")
    status.store.desired.put([fresh])
    take(status.reconciler, "r2", Policy(apply=apply))
    assert [line.message for line in status.minions()] == [message]


@pytest.mark.parametrize(
    ("mode", "said"), [("report", "to heal it: saltern sync web1 --whole"), ("remediate", "healed by itself")]
)
async def test_drift_says_what_heals_it_in_words_of_people(status, mode, said):
    run = RunRecord(run_id="drift-1", minion="web1", kind="drift", created=1.0, digest="d" * 64, test=True)
    status.store.runs.create(run)
    entry = {"result": None, "comment": "would be set", "changes": {"mode": "0600"}}
    status.store.runs.finish("drift-1", "pending", finished=2.0, changes=1, result={"states": {CONF: entry}})
    status.reconciler.live.policy = Policy(drift=DriftPolicy(mode=mode))
    line = connected(status)
    assert line.message == f"drift in 1 state; {said}"
    status.documents.desired = lambda digest: None
    [diff] = await status.diff(["web1"])
    assert diff.heal == said
