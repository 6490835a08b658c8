"""What holds of a store in PostgreSQL alone: what it refuses, its end and its return, and who leads."""

import os
import signal
import subprocess
import sys
import time

import pytest
from sqlalchemy.exc import OperationalError

from controller.store import RunRecord, Store, StoreError, StoreUnavailable, leadership
from controller.store.errors import LeadershipLost
from controller.store.leadership import LEASE_SECONDS, Lease


@pytest.fixture
def url(postgres, request):
    return postgres.new_database(f"of-{request.node.name}"[:60])


@pytest.fixture
def leases(url):
    """Makes leases of the database, which are given back at the end."""
    made = []

    def make():
        lost = []
        made.append(Lease(url, lambda: lost.append(True)))
        return made[-1], lost

    yield make
    for lease in made:
        lease.close()


def seen(store):
    return {each.id: each.last_seen for each in store.minions.all()}


def test_texts_that_sqlite_takes_are_taken(url):
    long = "x" * 100_000
    run = RunRecord(run_id="r", minion="m" * 300, kind="call", created=1.0, fun="f\0g", args=long, reason="\0")
    with Store(url) as store:
        assert store.runs.create(run)
        found = store.runs.get("r")
    assert (found.minion, found.fun, found.args, found.reason) == ("m" * 300, "f\ufffdg", long, "\ufffd")


def test_ids_are_sorted_by_their_characters_and_not_by_a_language(url):
    with Store(url) as store:
        for name in ("a", "B", "_", "b-1", "b1", "\u00e9"):
            store.minions.seen(name, 1.0)
        assert [each.id for each in store.minions.all()] == ["B", "_", "a", "b-1", "b1", "\u00e9"]


def test_a_database_without_an_encoding_is_taken(postgres):
    """What `createdb` makes where no locale is set."""
    postgres.run("CREATE DATABASE plain ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with Store(f"postgresql://salt@/plain?host={postgres.folder}") as store:
        store.minions.seen("\u00e9", 1.0)
        assert seen(store) == {"\u00e9": 1.0}


def test_a_new_store_is_opened_again_and_one_of_another_program_is_refused(url, postgres):
    with Store(url) as store:
        store.minions.seen("a", 1.0)
    with Store(url) as store:
        assert seen(store) == {"a": 1.0}
    other = postgres.new_database("of-others")
    postgres.run("CREATE TABLE things (id int)", "of-others")
    with pytest.raises(StoreError, match="another program"):
        Store(other)


def test_the_url_of_another_database_says_what_there_is():
    with pytest.raises(StoreError, match=r"kind mysql; write sqlite:.*or postgresql://"):
        Store("mysql://x/y")


def test_a_server_that_is_away_is_said_and_used_again_once_it_is_back():
    from postgres_server import PROGRAMS, PostgresServer

    if PROGRAMS is None:
        pytest.skip("there is no PostgreSQL in /usr/lib/postgresql")
    server = PostgresServer()
    try:
        with Store(server.new_database("x")) as store:
            store.minions.seen("a", 1.0)
            with pytest.raises(StoreUnavailable), store.transaction():
                store.minions.seen("a", 2.0)
                server.stop(kill=True)
                store.minions.seen("b", 2.0)
            with pytest.raises(StoreUnavailable, match="PostgreSQL running"):
                store.minions.all()
            server.start()
            assert seen(store) == {"a": 1.0}
            store.minions.seen("a", 3.0)
            assert seen(store) == {"a": 3.0}
    finally:
        server.close()


def test_one_leads_and_the_next_does_when_it_gives_back(leases):
    (first, _), (second, lost) = leases(), leases()
    leader = first.try_to_lead()
    assert first.leads
    assert second.try_to_lead() == leader
    assert not second.leads
    first.close()
    second.try_to_lead()
    assert (second.leads, second.epoch, lost) == (True, first.epoch + 1, [])


def test_who_leads_keeps_the_lease_for_longer_than_it_lasts(leases):
    (first, lost), (second, _) = leases(), leases()
    first.try_to_lead()
    end = time.monotonic() + LEASE_SECONDS + 1
    while time.monotonic() < end:
        second.try_to_lead()
        time.sleep(0.2)
    assert (first.leads, second.leads, lost) == (True, False, [])


def test_one_that_was_overtaken_learns_of_it_and_writes_nothing(url, leases, postgres, request):
    (first, lost), (second, _) = leases(), leases()
    first.try_to_lead()
    with Store(url, first.epoch) as old:
        old.minions.seen("a", 1.0)
        end = time.monotonic() + 20
        while not second.leads and time.monotonic() < end:  # the first may renew it in between
            postgres.run("UPDATE leadership SET renewed = 0", f"of-{request.node.name}"[:60])
            second.try_to_lead()
        assert second.leads
        with pytest.raises(LeadershipLost):
            old.minions.seen("a", 2.0)
        with Store(url, second.epoch) as new:
            new.minions.seen("b", 3.0)
            assert seen(new) == {"a": 1.0, "b": 3.0}
    end = time.monotonic() + 20
    while not lost and time.monotonic() < end:
        time.sleep(0.05)
    assert lost == [True]
    assert first.lost


@pytest.mark.parametrize("waits", [True, False])
def test_one_cut_off_ends_where_others_may_lead(leases, url, monkeypatch, waits):
    monkeypatch.setattr(leadership, "GIVE_UP_SECONDS", 1.0)
    (first, lost), (second, _) = leases(), leases()
    first.try_to_lead()
    if waits:
        second.try_to_lead()
    end = time.monotonic() + 20
    while len(first.waiting) < waits and time.monotonic() < end:
        time.sleep(0.05)
    asked = []

    def unreachable(*_):
        asked.append(True)
        raise OperationalError("none", None, Exception("cut off"))

    monkeypatch.setattr(leadership, "_waiting", unreachable)
    while len(asked) < 6 and not lost and time.monotonic() < end:
        time.sleep(0.05)
    assert (lost, first.leads) == (([True], False) if waits else ([], True))


FROZEN = """
import sys, time
from controller.store import Store, StoreUnavailable
from controller.store.leadership import Lease
lease = Lease(sys.argv[1], lambda: print("lost", flush=True))
lease.try_to_lead()
with Store(sys.argv[1], lease.epoch) as store:
    try:
        with store.transaction():
            store.minions.seen("frozen", 1.0)
            print("inside", flush=True)
            sys.stdin.readline()
            store.minions.seen("frozen", 2.0)
    except StoreUnavailable as error:
        print(type(error).__name__, flush=True)
    try:
        store.minions.seen("later", 1.0)
    except StoreUnavailable as error:
        print(type(error).__name__, flush=True)
    sys.stdin.readline()
lease.close()
"""


def in_the_middle_of_a_transaction(url):
    """A process that leads; one that lost that before, on a busy machine, is followed by another."""
    command = [sys.executable, "-c", FROZEN, url]
    for _ in range(10):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = process.stdout.readline()
        if said == "inside\n":
            return process
        process.kill()
        process.communicate()
    raise AssertionError(said)


def test_one_that_is_frozen_in_the_middle_of_a_transaction_is_overtaken_and_fenced(url, leases):
    second, _ = leases()
    frozen = in_the_middle_of_a_transaction(url)
    try:
        os.kill(frozen.pid, signal.SIGSTOP)
        end = time.monotonic() + 120
        while not second.leads and time.monotonic() < end:
            second.try_to_lead()
            time.sleep(0.1)
        assert second.leads
        with Store(url, second.epoch) as store:
            store.minions.seen("new", 1.0)
            os.kill(frozen.pid, signal.SIGCONT)
            frozen.stdin.write("\n")
            frozen.stdin.flush()
            missing = {"StoreUnavailable", "LeadershipLost", "lost"}
            while missing:
                line = frozen.stdout.readline()
                assert line, f"it has not said {missing}"
                missing.discard(line.strip())
            assert seen(store) == {"new": 1.0}
    finally:
        frozen.kill()
        frozen.communicate()
