"""What a status line says of a minion that is at work, and of one that still has to act on a change."""

from pathlib import Path

import pytest

from controller.jids import Jids
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.reconcile.documents import Documents
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.status import Status
from controller.sessions.sessions import Progress, Session, Sessions
from controller.store import AppliedRecord, DesiredRecord, Store
from reactors.bus import Bus
from wire.messages import RunProgress

KEY = "k" * 40
NGINX = "service_|-web_|-nginx_|-running"
CONF = "file_|-conf_|-/etc/nginx.conf_|-managed"


class Unsent:
    def send(self, key, message):
        raise AssertionError("a status says nothing to minions")


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
            ids=Jids(lambda: 1.0),
            clock=lambda: 1.0,
            run_timeout=60.0,
        )
        yield Status(
            store=store, sessions=sessions, reconciler=reconciler, documents=documents, redactor=Redactor(store, "key")
        )


def connected(status, **more):
    status.sessions.connect(Session(minion="web1", key=KEY, session="s", grains={}, seen=1.0, **more))
    [line] = status.minions(["web1"])
    return line


def test_a_run_that_goes_on_is_the_message(status):
    said = RunProgress(run_id="1", done=12, total=40, key=NGINX, seconds=3.0)
    line = connected(status, progress={"1": Progress(said=said, at=1.0)}, pending_triggers=(CONF,))
    assert line.running == ("12/40 web (service.running)",)
    assert line.message == "running: 12/40 web (service.running)"


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


def test_one_that_is_away_owes_and_runs_nothing_that_is_known(status):
    [line] = status.minions(["web1"])
    assert (line.connected, line.running, line.pending_triggers) == (False, (), ())
