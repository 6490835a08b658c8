"""Backups of a real store, made while it is written to, and put back: into SQLite and into PostgreSQL."""

import contextlib
import json
import os
import stat
import tarfile
import threading

import pytest
import yaml
from postgres_server import PROGRAMS, PostgresServer

from controller.backup import store_copy
from controller.backup.archive import BackupError, create, restore
from controller.cli.main import run
from controller.config.settings import load_settings
from controller.store import RunRecord, Store, schema
from controller.store.exclusive_use import exclusive_use


@pytest.fixture(scope="module")
def postgres():
    if PROGRAMS is None:
        pytest.skip("there is no PostgreSQL in /usr/lib/postgresql")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def make_settings(tmp_path):
    """The settings of a controller in a folder of its own."""

    def make(name, **more):
        config = tmp_path / name / "etc"
        config.mkdir(parents=True)
        given = {"root_dir": str(tmp_path / name), "gitfs_remotes": ["https://git.example.org/x.git"], **more}
        (config / "controller").write_text(yaml.safe_dump(given))
        return load_settings(config)

    return make


@pytest.fixture
def filled(make_settings):
    """A controller with a store and keys."""
    settings = make_settings("old")
    settings.pki_dir.mkdir(parents=True)
    (settings.pki_dir / "controller.key").write_text("secret")
    fill(settings.store_url)
    return settings


def fill(url):
    with Store(url) as store:
        for minion in ("a", "b"):
            store.minions.seen(minion, 1.0, grains={"os": "Debian"})
            store.runs.create(RunRecord(run_id=f"r-{minion}", minion=minion, kind="apply", created=1.0))
        store.runs.finish("r-a", "changed", finished=2.0, result={"states": {"x": {"result": True}}})
        store.queues.insert("q", [1, {"b": 2}])


def told(url):
    with Store(url) as store:
        runs = [(run.run_id, run.outcome, store.runs.result(run.run_id)) for run in store.runs.newest()]
        return [(each.id, each.grains) for each in store.minions.all()], runs, store.queues.items("q")


def test_a_backup_that_is_put_back_is_the_same_store_with_the_same_keys(filled, make_settings, tmp_path):
    path = tmp_path / "backup.tar.gz"
    made = create(filled, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (made.manifest.schema, made.manifest.store, made.size) == (schema.HEAD, "sqlite", path.stat().st_size)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["backup.tar.gz", "old"], "nothing else is left"
    with tarfile.open(path) as archive:
        assert {"manifest.json", "store.sqlite", "pki/controller.key", "config/controller"} <= set(archive.getnames())
    new = make_settings("new")
    restore(new, path)
    assert told(new.store_url) == told(filled.store_url)
    assert (new.pki_dir / "controller.key").read_text() == "secret"


def test_nothing_is_replaced_unasked(filled, make_settings, tmp_path):
    path = tmp_path / "backup.tar.gz"
    create(filled, path)
    with pytest.raises(BackupError, match="--force"):
        create(filled, path)
    create(filled, path, overwrite=True)
    with pytest.raises(BackupError, match=r"pki.*would be replaced"):
        restore(filled, path)
    with Store(filled.store_url) as store:
        store.queues.insert("q", ["later"])
    restore(filled, path, overwrite=True)
    assert told(filled.store_url)[2] == [1, {"b": 2}]
    kept = [each.name for each in filled.pki_dir.parent.iterdir()]
    assert sorted(kept) == [filled.pki_dir.name, f"{filled.pki_dir.name}.before-restore"]


def test_a_store_that_is_used_is_copied_and_not_replaced(filled, tmp_path):
    path = tmp_path / "backup.tar.gz"
    with exclusive_use(filled.store_url):
        create(filled, path)
    holder = os.fork()
    if holder == 0:  # a lock of this process would be no lock for this process
        with contextlib.suppress(BaseException), exclusive_use(filled.store_url):
            (tmp_path / "held").touch()
            threading.Event().wait(60)
        os._exit(0)
    try:
        while not (tmp_path / "held").exists():
            pass
        with pytest.raises(BackupError, match="another controller"):
            restore(filled, path, overwrite=True)
    finally:
        os.kill(holder, 9)
        os.waitpid(holder, 0)


def test_a_copy_is_of_one_moment_however_busy_the_store_is(filled, tmp_path):
    """Pairs of rows are written together: a copy has both or none."""
    ending = threading.Event()

    def write():
        with Store(filled.store_url) as store:
            number = 0
            while not ending.is_set():
                number += 1
                with store.transaction():
                    store.queues.insert("left", [number])
                    store.queues.insert("right", [number])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            copy = tmp_path / f"copy{number}"
            store_copy.copy_store(filled.store_url, copy)
            with Store(f"sqlite:///{copy}") as store:
                assert store.queues.items("left") == store.queues.items("right")
    finally:
        ending.set()
        thread.join()


def test_from_sqlite_to_postgresql_and_back(filled, make_settings, postgres, tmp_path):
    path, again = tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"
    create(filled, path)
    moved = make_settings("moved", store_url=postgres.new_database("moved"))
    restore(moved, path)
    assert told(moved.store_url) == told(filled.store_url)
    with Store(moved.store_url) as store:  # numbers go on after those that were copied
        assert store.runs.create(RunRecord(run_id="new", minion="a", kind="apply", created=3.0))
    assert create(moved, again).manifest.store == "postgresql"
    back = make_settings("back")
    restore(back, again)
    assert told(back.store_url) == told(moved.store_url)
    with pytest.raises(BackupError, match="database is not empty"):
        restore(make_settings("other", store_url=moved.store_url), path, overwrite=True)


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_what_is_no_backup_is_refused(make_settings, tmp_path, content):
    path = tmp_path / "x.tar.gz"
    if content is None:
        with tarfile.open(path, "w:gz") as archive:
            archive.add(__file__, "../escape")
    else:
        path.write_bytes(content)
    settings = make_settings("new")
    with pytest.raises(BackupError, match="no backup of a controller"):
        restore(settings, path)
    assert not store_copy.holds_something(settings.store_url)


def test_the_command(filled, make_settings, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["backup", "create", "b.tar.gz", "-c", str(filled.config_dir), "--out", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == "b.tar.gz"
    new = make_settings("new")
    assert run(["backup", "restore", "b.tar.gz", "-c", str(new.config_dir)]) == 0
    assert capsys.readouterr().out.startswith("restored: b.tar.gz")
    assert run(["backup", "restore", "b.tar.gz", "-c", str(new.config_dir)]) == 1
    assert "--force" in capsys.readouterr().err
