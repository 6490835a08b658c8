"""The store on real SQLite files."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from controller.store import (
    AppliedRecord,
    DesiredRecord,
    KeyConflict,
    KeyUnknown,
    RevisionRecord,
    RevisionSource,
    RunRecord,
    Store,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
    database,
    migrate,
    schema,
)
from highstate.types import Pos, Problem
from wire.messages import RunResult

PROBLEM = Problem(message="'nope' is undefined", pos=Pos(file="a.sls", line=3, include_chain=("top", "a")), hint="x")


def public(number: int) -> str:
    return f"{number:0>5}" * 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lib" / "controller.sqlite"


def run_of(run_id: str, minion: str = "a", **fields) -> RunRecord:
    return RunRecord(**{"run_id": run_id, "minion": minion, "kind": "apply", "created": 1.0, **fields})


def give(store: Store, minion: str, generation: int, document: bytes) -> str:
    digest = f"digest-{document.decode()}"
    record = DesiredRecord(
        minion=minion, generation=generation, revision="r1", compiled_revision="r1", digest=digest, document=document
    )
    store.desired.put([record])
    return digest


# --- the file -------------------------------------------------------------------------------------------------------


def test_files_are_private_whatever_the_umask(path):
    before = os.umask(0)
    try:
        with Store(f"sqlite:///{path}") as store:
            store.minions.seen("a", 1.0)
            found = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert found == dict.fromkeys(found, 384)
    assert "controller.sqlite-wal" in found
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_others_could_read_is_made_private(path):
    path.parent.mkdir()
    path.touch(0o644)
    Store(f"sqlite:///{path}").close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_everything_is_there_after_reopening(path):
    with Store(f"sqlite:///{path}") as store:
        store.keys.request(public(1), "a", 1.0)
        store.minions.seen("a", 2.0, grains={"os": "Debian", 1: [None, b"\xff"]}, session="s", held="h", epoch="e")
        digest = give(store, "a", 1, b"doc")
        store.runs.create(run_of("r", keys=("x", "y")))
    with Store(f"sqlite:///{path}") as store:
        assert store.keys.all()[0].id == "a"
        assert store.minions.get("a").grains == {"os": "Debian", 1: [None, b"\xff"]}
        assert store.documents.get(digest) == b"doc"
        assert store.runs.get("r").keys == ("x", "y")


def test_a_store_at_head_needs_no_alembic(path):
    Store(f"sqlite:///{path}").close()
    opening = f"from controller.store import Store; Store('sqlite:///{path}').close()"
    script = f"import sys; {opening}; print('alembic' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )


def test_migrating_from_empty_gives_what_creating_gives(tmp_path, path):
    assert max(migrate.known_versions()) == schema.HEAD
    engine = create_engine(f"sqlite:///{tmp_path}/migrated.sqlite")
    with engine.begin() as connection:
        migrate.upgrade(connection)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
    engine.dispose()
    Store(f"sqlite:///{path}").close()

    def tables(file: Path) -> list[tuple[str, list[tuple[object, ...]]]]:
        connection = sqlite3.connect(file)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        indexes = sorted(row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'"))
        found = [(name, connection.execute(f"PRAGMA table_info({name})").fetchall()) for name in sorted(names)]
        keyed = [(name, connection.execute(f"PRAGMA foreign_key_list({name})").fetchall()) for name in sorted(names)]
        connection.close()
        return [*found, *keyed, ("indexes", [(name,) for name in indexes])]

    assert tables(tmp_path / "migrated.sqlite") == tables(path)


def test_an_older_store_is_migrated(path, monkeypatch):
    Store(f"sqlite:///{path}").close()
    seen = []
    monkeypatch.setattr(schema, "HEAD", "newer")
    monkeypatch.setattr(migrate, "upgrade", lambda connection: seen.append(connection))
    Store(f"sqlite:///{path}").close()
    assert len(seen) == 1


def test_a_newer_store_is_left_alone(path):
    Store(f"sqlite:///{path}").close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreTooNew, match="schema 9999"):
        Store(f"sqlite:///{path}")


def test_a_database_of_another_program_is_left_alone(path):
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(StoreError, match="another program"):
        Store(f"sqlite:///{path}")


@pytest.mark.parametrize("content", [b"this is no database, but it is long enough to be looked at" * 20, b"x" * 4096])
def test_a_damaged_file_says_so(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match="damaged"):
        Store(f"sqlite:///{path}")


@pytest.mark.parametrize("url", ["nonsense", "sqlite", "mongodb://x/y"])
def test_a_url_that_is_none_says_so(url):
    with pytest.raises(StoreError, match="store_url"):
        Store(url)


def test_a_symlink_is_not_followed(tmp_path, path):
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        Store(f"sqlite:///{path}")
    assert not (tmp_path / "elsewhere").exists()


def test_a_full_disk_is_told_and_changes_nothing(path):
    script = f"""
import resource
from controller.store import Store, StoreUnavailable, DesiredRecord
store = Store("sqlite:///{path}")
store.minions.seen("a", 1.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (512 * 1024, resource.RLIM_INFINITY))
import os
try:
    for n in range(100):
        with store.transaction():
            store.minions.seen("a", 100.0 + n)
            store.desired.put([DesiredRecord(minion="a", generation=n, digest=str(n), document=os.urandom(50_000))])
except StoreUnavailable as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.minions.seen("b", 5.0)
desired = store.desired.get("a")
print(store.minions.get("a").last_seen == 100.0 + desired.generation, len(store.documents.get(desired.digest)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "free space" in done.stdout
    assert done.stdout.splitlines()[-1] == "True 50000"


@pytest.mark.parametrize("beat", [1, 7, 40])
def test_kill_9_leaves_whole_transactions(path, beat):
    script = f"""
from controller.store import Store, RunRecord
store = Store("sqlite:///{path}")
n = 0
while True:
    n += 1
    with store.transaction():
        store.runs.create(RunRecord(run_id=f"r{{n}}", minion="a", kind="apply", created=1.0))
        print(n, flush=True)
        store.runs.finish(f"r{{n}}", "ok", finished=2.0, result={{"n": n}})
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) == beat:
                break
        process.kill()
    with Store(f"sqlite:///{path}") as store:
        runs = store.runs.newest(limit=None)
        assert len(runs) >= beat - 1
        assert {run.state for run in runs} <= {"finished"}
        assert all(store.runs.result(run.run_id) == {"n": int(run.run_id[1:])} for run in runs)
        assert store.runs.create(run_of("next"))


def test_a_transaction_is_kept_whole_or_not_at_all(store):
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.minions.seen("a", 1.0)
        store.runs.create(run_of("r"))
        raise ZeroDivisionError
    assert store.minions.get("a") is None
    assert store.runs.get("r") is None


def test_an_inner_part_is_taken_back_alone(store):
    with store.transaction():
        store.minions.seen("before", 1.0)
        with pytest.raises(ZeroDivisionError), store.savepoint():
            store.minions.seen("a", 1.0)
            with store.savepoint():
                store.minions.seen("inner", 1.0)
            assert store.minions.get("inner") is not None
            raise ZeroDivisionError
        with store.savepoint():
            store.minions.seen("after", 1.0)
    assert [record.id for record in store.minions.all()] == ["after", "before"]


def test_nothing_is_committed_after_a_write_that_failed(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 50)
    with Store(f"sqlite:///{path}") as store:
        with pytest.raises(StoreUnavailable, match="writing for long"), store.transaction():
            with other_writer(path), pytest.raises(StoreUnavailable):
                store.minions.seen("a", 1.0)
            store.minions.seen("b", 1.0)
        assert store.minions.all() == []
        store.minions.seen("b", 1.0)


def test_a_read_waits_for_nobody_who_writes(path):
    """One that waited would wait for the end of the block, and be given up."""
    with Store(f"sqlite:///{path}") as store:
        store.minions.seen("a", 1.0)
        with other_writer(path):
            assert store.minions.get("a").last_seen == 1.0
            with store.transaction():
                assert store.minions.status(["a"])[0].minion.id == "a"


def test_a_read_waits_for_no_thread_that_writes(store):
    store.minions.seen("a", 1.0)
    found = []
    with store.transaction():
        store.minions.seen("a", 2.0)
        thread = threading.Thread(target=lambda: found.append(store.minions.get("a").last_seen))
        thread.start()
        thread.join(5.0)
        assert store.minions.get("a").last_seen == 2.0
    assert found == [1.0], "what is not committed is seen by the thread that wrote it"
    assert store.minions.get("a").last_seen == 2.0


@contextlib.contextmanager
def other_writer(path):
    """Another process, as far as SQLite can tell, in the middle of a transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE minions SET last_seen = 99.0")
    try:
        yield
    finally:
        connection.close()


# --- keys -----------------------------------------------------------------------------------------------------------


def test_asking_again_changes_nothing(store):
    first = store.keys.request(public(1), "web", 1.0)
    assert (first.state, first.conflict, first.first_seen) == ("pending", False, 1.0)
    assert store.keys.request(public(1), "other", 5.0) == first


def test_only_one_key_is_accepted_for_an_id_in_any_case(store):
    store.keys.request(public(1), "web", 1.0)
    accepted = store.keys.set_state("web", "accepted", 2.0)
    assert (accepted.state, accepted.changed) == ("accepted", 2.0)
    assert store.keys.set_state("web", "accepted", 9.0) == accepted
    twin = store.keys.request(public(2), "WEB", 3.0)
    assert twin.conflict
    with pytest.raises(KeyConflict, match="another key is accepted"):
        store.keys.set_state(twin.fingerprint, "accepted", 4.0)
    store.keys.set_state(accepted.fingerprint, "rejected", 5.0)
    assert store.keys.set_state("WEB", "accepted", 6.0).public_key == public(2)


def test_of_two_keys_that_wait_for_an_id_the_later_one_is_denied(store):
    store.keys.request(public(2), "web", 1.0)
    store.keys.request(public(1), "Web", 2.0)
    denied = {record.public_key: record.conflict for record in store.keys.all()}
    assert denied == {public(2): False, public(1): True}
    store.keys.set_state(public(2), "rejected", 3.0)
    assert [record.conflict for record in store.keys.all()] == [False, False]


def test_what_a_gateway_vouches_for_is_kept(store):
    store.keys.request(public(1), "web", 1.0)
    shown = ":".join(["ab"] * 32)
    (record,) = store.keys.vouched({public(1): shown, public(9): shown})
    assert (record.public_key, record.salt_fingerprint) == (public(1), shown)
    assert store.keys.set_state(shown, "accepted", 2.0).public_key == public(1)
    with pytest.raises(KeyUnknown):
        store.keys.request(public(3), "other", 3.0)
        store.keys.set_state("", "accepted", 4.0)


def test_an_id_with_two_keys_must_be_told_by_fingerprint(store):
    store.keys.request(public(1), "web", 1.0)
    store.keys.request(public(2), "web", 1.0)
    with pytest.raises(KeyConflict, match="say which by its fingerprint"):
        store.keys.set_state("web", "accepted", 2.0)
    assert len(store.keys.delete("web")) == 2
    with pytest.raises(KeyUnknown):
        store.keys.delete("web")
    with pytest.raises(KeyUnknown):
        store.keys.set_state("web", "accepted", 2.0)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_key_costs_the_same_however_many_wait(store):
    work = 0

    def count():
        nonlocal work
        work += 1

    def work_of(number):
        nonlocal work
        work = 0
        store.keys.request(public(number), f"m{number}", 1.0)
        store.keys.set_state(public(number), "rejected", 2.0)
        store.keys.delete_all([public(number)])
        return work

    store.keys.request(public(0), "m0", 1.0)
    store._database._writer.connection.dbapi_connection.set_progress_handler(count, 10)
    alone = work_of(1)
    with store.transaction():
        for number in range(500):
            store.keys.request(public(10 + number), f"m{number}", 1.0)
    assert work_of(2) < 2 * alone


def test_many_keys_are_forgotten_together(store):
    with store.transaction():
        for number in range(600):
            store.keys.request(public(number), f"m{number}", 1.0)
    store.keys.delete_all([public(number) for number in range(1, 600)])
    assert [key.id for key in store.keys.all()] == ["m0"]


# --- desired and applied --------------------------------------------------------------------------------------------


def test_a_failed_compile_keeps_the_last_good_document(store):
    store.minions.seen("a", 1.0)
    digest = give(store, "a", 1, b"good")
    good = store.desired.get("a")
    record = DesiredRecord(
        minion="a", generation=1, revision="r2", compiled_revision="r1", digest=digest, errors=(PROBLEM,)
    )
    store.desired.put([record])
    assert store.desired.get("a") == record
    assert store.documents.get(good.digest) == b"good"


def test_the_first_compile_may_fail(store):
    store.minions.seen("a", 1.0)
    record = DesiredRecord(minion="a", revision="r1", errors=(PROBLEM,), compiled_at=3.0)
    store.desired.put([record])
    assert store.desired.get("a") == record


def test_what_a_compile_said_besides_is_kept(store):
    store.minions.seen("a", 1.0)
    record = DesiredRecord(minion="a", revision="r1", warnings=(PROBLEM,), volatile=("#!py",), compiled_at=3.0)
    store.desired.put([record])
    assert store.desired.get("a") == record
    [row] = store.minions.status(["a"])
    assert (row.desired.warnings, row.desired.volatile) == ((PROBLEM,), ("#!py",))


def test_a_minion_that_was_forgotten_meanwhile_stops_nobody(store):
    store.minions.seen("a", 1.0)
    store.desired.put([DesiredRecord(minion=name, generation=1, digest="d", document=b"x") for name in ("gone", "a")])
    assert store.desired.get("gone") is None
    assert store.desired.get("a").digest == "d"


def test_documents_are_kept_while_somebody_needs_them(store):
    store.minions.seen("a", 1.0)
    first = give(store, "a", 1, b"one")
    store.applied.put(AppliedRecord(minion="a", generation=1, digest=first, revision="r1", at=1.0, outcome="ok"))
    second = give(store, "a", 2, b"two")
    store.runs.create(run_of("r", digest=second))
    third = give(store, "a", 3, b"three")
    store.minions.seen("a", 2.0, held="elsewhere")
    store.prune(10)
    assert [store.documents.get(digest) for digest in (first, second, third)] == [b"one", b"two", b"three"]
    store.runs.finish("r", "ok", finished=2.0)
    store.applied.put(AppliedRecord(minion="a", generation=3, digest=third, revision="r1", at=1.0, outcome="ok"))
    store.minions.seen("a", 2.0, held=first)
    store.prune(10)
    assert [store.documents.get(digest) for digest in (first, second, third)] == [b"one", None, b"three"]


def test_forgetting_a_minion_leaves_its_history(store):
    store.minions.seen("a", 1.0)
    digest = give(store, "a", 1, b"x")
    store.applied.put(AppliedRecord(minion="a", generation=1, digest=digest, revision="r", at=1.0, outcome="ok"))
    store.runs.create(run_of("r"))
    store.minions.delete("a")
    assert (store.minions.get("a"), store.desired.get("a"), store.applied.get("a")) == (None, None, None)
    assert store.runs.get("r") is not None


# --- runs -----------------------------------------------------------------------------------------------------------


def test_a_result_counts_once(store):
    store.minions.seen("a", 1.0)
    assert store.runs.create(run_of("r"))
    assert not store.runs.create(run_of("r", summary="again"))
    store.runs.start("r", 2.0)
    result = RunResult(run_id="r", kind="apply", generation=1, digest="d", outcome="ok", states={"k": {"result": True}})
    assert store.runs.finish("r", "ok", finished=3.0, changes=2, summary="first", result=result)
    assert not store.runs.finish("r", "failed", finished=9.0, summary="second", result=None)
    assert not store.runs.finish("unknown", "ok", finished=3.0)
    kept = store.runs.get("r")
    assert (kept.state, kept.outcome, kept.started, kept.finished, kept.summary) == (
        "finished",
        "ok",
        2.0,
        3.0,
        "first",
    )
    assert store.runs.result("r")["states"] == {"k": {"result": True}}
    store.runs.start("r", 10.0)
    assert store.runs.get("r") == kept


def test_runs_are_found_newest_first(store):
    for number in range(6):
        kind = "drift" if number % 2 else "apply"
        store.runs.create(run_of(f"run_{number}", minion="ab"[number // 3], kind=kind, revision=f"rev{number % 2}"))
    ids = [run.run_id for run in store.runs.newest()]
    assert ids == [f"run_{number}" for number in (5, 4, 3, 2, 1, 0)]
    assert [run.run_id for run in store.runs.newest(minion="a", limit=2)] == ["run_2", "run_1"]
    assert [run.run_id for run in store.runs.newest(revision="rev1", kinds=("drift",), limit=None)] == [
        "run_5",
        "run_3",
        "run_1",
    ]
    assert len(store.runs.open()) == 6
    assert [run.run_id for run in store.runs.find("run_4")] == ["run_4"]
    assert store.runs.find("%") == []


def test_pruning_keeps_the_newest_the_open_and_the_last_of_each_kind(store):
    store.minions.seen("a", 1.0)
    store.runs.create(run_of("open"))
    for number in range(3):
        store.runs.create(run_of(f"apply{number}"))
        store.runs.finish(f"apply{number}", "ok", finished=1.0, result=[number])
    for number in range(10):
        store.runs.create(run_of(f"drift{number}", kind="drift", test=True))
        store.runs.finish(f"drift{number}", "ok", finished=1.0)
    assert store.runs.prune(2, "a") == 10
    assert {run.run_id for run in store.runs.newest()} == {"open", "apply2", "drift8", "drift9"}
    assert store.runs.result("apply0") is None
    assert store.runs.result("apply2") == [2]
    assert store.prune(2) == 0


def test_results_of_a_minion_take_only_so_many_bytes(store):
    for minion in ("a", "b"):
        store.minions.seen(minion, 1.0)
        for number in range(4):
            store.runs.create(run_of(f"{minion}{number}", minion=minion))
            store.runs.finish(f"{minion}{number}", "ok", finished=2.0, result=os.urandom(1000))
    assert store.runs.prune(100, "a", result_bytes=2100) == 0
    assert [store.runs.result(f"a{number}") is not None for number in range(4)] == [False, False, True, True]
    assert all(store.runs.result(f"b{number}") for number in range(4))
    assert store.runs.get("a0").outcome == "ok", "what came of it is known still"


def test_revisions_in_use_are_kept(store):
    store.minions.seen("a", 1.0)
    for number in range(5):
        store.revisions.add(RevisionRecord(digest=f"r{number}", label=f"c{number}"))
    give(store, "a", 1, b"x")
    store.revisions.add(RevisionRecord(digest="r4", label="other", error="boom"))
    store.prune(2)
    found = [store.revisions.get(f"r{number}") for number in range(5)]
    assert [item and (item.digest, item.label, item.error) for item in found] == [
        None,
        ("r1", "c1", ""),
        None,
        ("r3", "c3", ""),
        ("r4", "c4", "boom"),
    ]


# --- the status page ------------------------------------------------------------------------------------------------


def test_status_rows_tell_all_without_documents(store):
    store.revisions.add(RevisionRecord(digest="r1", label="abc", committed_at=50.0))
    store.revisions.add(RevisionRecord(digest="r2", label="def"))
    store.minions.seen("a", 1.0, grains={"big": "x"}, held="h")
    store.minions.seen("b", 2.0)
    digest = give(store, "a", 1, b"doc")
    store.applied.put(AppliedRecord(minion="a", generation=1, digest=digest, revision="r1", at=3.0, outcome="changed"))
    store.desired.put(
        [
            DesiredRecord(
                minion="a", generation=1, revision="r2", compiled_revision="r1", digest=digest, errors=(PROBLEM,)
            )
        ]
    )
    store.runs.create(run_of("good"))
    store.runs.finish("good", "changed", finished=3.0)
    store.runs.create(run_of("tried", test=True))
    store.runs.finish("tried", "pending", finished=4.0)
    store.runs.create(run_of("drifted", kind="drift", test=True))
    store.runs.finish("drifted", "pending", finished=4.0, changes=2)
    store.runs.create(run_of("open", kind="remediate"))
    store.runs.create(run_of("call", kind="call"))
    store.minions.set_paused(["a", "nobody"], True)
    first, second = store.minions.status()
    assert first.minion.paused
    assert first.minion.grains == {}
    assert first.desired.errors == (PROBLEM,)
    assert (first.attempted_label, first.applied_label, first.applied_committed_at) == ("def", "abc", 50.0)
    assert first.applied.digest == digest
    assert (first.last_run.run_id, first.last_drift.run_id, first.open_run.run_id) == ("good", "drifted", "open")
    assert (second.minion.id, second.desired, second.applied, second.last_run, second.open_run) == ("b",) + (None,) * 4
    assert [row.minion.id for row in store.minions.status(["b", "zz"])] == ["b"]
    assert store.minions.status([]) == []


def test_a_revision_keeps_its_sources_and_the_newest_good_one_is_found(store):
    moved = RevisionSource(remotes=("pillar",), commit="c2", subject="Number", author="A", before="c1", moved=True)
    first = RevisionRecord(digest="r1", label="c2", sources=(RevisionSource(remotes=("states",), commit="s1"), moved))
    store.revisions.add(first)
    store.revisions.add(RevisionRecord(digest="r2", label="bad", error="boom"))
    assert store.revisions.get("r1") == first
    assert store.revisions.newest() == first


def test_a_run_keeps_who_asked_and_what_was_called(store):
    run = RunRecord(run_id="1", minion="web1", kind="call", created=1.0, user="alice", fun="test.echo", args="'a b'")
    store.runs.create(run)
    assert store.runs.get("1") == run


def test_a_store_of_the_first_version_is_brought_up(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/old.sqlite")
    with engine.begin() as connection:
        migrate.upgrade(connection, "0001")
        connection.exec_driver_sql(
            'INSERT INTO revisions (digest, label, "commit", subject, author, committed_at, first_seen, error)'
            " VALUES ('r1', 'c1', 'c1', 's', 'a', 1, 1, '')"
        )
        connection.exec_driver_sql(
            "INSERT INTO runs (run_id, minion, kind, created, generation, revision, digest, test, state, outcome,"
            " seconds, changes, failed, summary, cause)"
            " VALUES ('1', 'web1', 'call', 1, 0, '', '', 0, 'finished', 'ok', 0, 0, 0, '', 'saltern run x')"
        )
    engine.dispose()
    with Store(f"sqlite:///{tmp_path}/old.sqlite") as old:
        assert (old.revisions.get("r1").sources, old.runs.get("1").user) == ((), "")
