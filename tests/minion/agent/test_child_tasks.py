"""What children of the agent do, in real children: their umask, runs, fact queries and the mine."""

from __future__ import annotations

import json
import os
import select
import sys
import time

import pytest

from highstate.ports import question
from minion.agent.child_tasks import PRELOADED, ChildTasks, read_settings
from minion.config.files import BadMinionSettings
from minion.config.settings import load_settings
from minion.modules.mine import FILE as MINE
from minion.spool.desired_state import FILE_NAME, DesiredState
from minion.spool.journal import RunFolders
from wire import patch
from wire.messages import Call, DesiredUpdate, FactAnswer, FactQuery, Run


@pytest.fixture
def settings(tmp_path):
    mine = "{test.echo: [shared], p: [{mine_function: pillar.get}, p]}"
    (tmp_path / "minion").write_text(f"id: web1\nroot_dir: {tmp_path}/root\nmine_functions: {mine}\n")
    made = load_settings(tmp_path)
    made.cachedir.mkdir(parents=True)
    return made


@pytest.fixture
def tasks(settings):
    return ChildTasks(
        settings=settings, umask=0o027, document=settings.cachedir / FILE_NAME, grains=lambda: {"id": "web1", "os": "X"}
    )


def ended(child):
    """Frames of a child and its exit code, once it has ended."""
    frames, deadline = [], time.monotonic() + 30
    while time.monotonic() < deadline:
        select.select([child.fd], [], [], 0.5)
        more, is_over = child.receive()
        frames += more
        if is_over:
            return frames, child.reap()
    child.kill()
    raise AssertionError("the child does not end")


def test_a_child_has_its_own_umask_and_process_group(tasks):
    def task(pipe):
        pipe.send(f"{os.umask(0):o} {os.getpgid(0) == os.getpid()}".encode())

    assert ended(tasks.fork(task)) == ([b"27 True"], 0)


def test_the_mine_is_collected_in_a_child_with_the_pillar_that_is_held(tasks, settings, desired_state):
    def collected():
        assert ended(tasks.fork(lambda pipe: tasks.update_mine()))[1] == 0
        return {name: one["value"] for name, one in json.loads((settings.cachedir / MINE).read_text()).items()}

    assert collected() == {"test.echo": "shared", "p": ""}
    document = desired_state(("test", "nop", "a"), pillar={"p": 1}).as_document()
    DesiredState(settings.cachedir).accept(
        DesiredUpdate(generation=1, base="", digest=patch.digest(document), patch=patch.diff(None, document))
    )
    assert collected() == {"test.echo": "shared", "p": 1}


def test_fact_queries_are_answered_by_functions_that_only_look(tasks, tmp_path):
    answer = tasks.fact_answer()
    there = FactQuery(fun="file.directory_exists", asked=question([str(tmp_path)], {}))
    assert answer(there, ()) == FactAnswer(value=True)
    assert answer(FactQuery(fun="cmd.run", asked=question([f"touch {tmp_path}/made"], {})), ()).error
    assert not (tmp_path / "made").exists()


def test_a_worker_does_the_run_of_its_folder(tasks, settings, desired_state, tmp_path):
    document = desired_state(("file", "managed", str(tmp_path / "made"), {"contents": "x"})).as_document()
    held = DesiredState(settings.cachedir)
    held.accept(DesiredUpdate(generation=1, base="", digest=patch.digest(document), patch=patch.diff(None, document)))
    request = Run(run_id="r1", kind="apply", generation=1, digest=held.digest)
    folder = RunFolders(settings.cachedir).create(request, settings.cachedir / FILE_NAME)
    worker = tasks.worker(ahead=False)
    worker.child.send(os.fsencode(folder.path))
    assert ended(worker.child)[1] == 0
    assert folder.result().outcome == "changed"
    assert (tmp_path / "made").read_text() == "x\n"
    reached = worker.progress.read()
    assert (reached.done, reached.total) == (0, 1)


@pytest.mark.parametrize("ahead", [False, True])
def test_a_worker_does_a_call(tasks, settings, ahead):
    folder = RunFolders(settings.cachedir).create(Call(run_id="c1", fun="grains.get", args=("os",)))
    worker = tasks.worker(ahead)
    worker.child.send(os.fsencode(folder.path))
    assert ended(worker.child)[1] == 0
    assert (folder.result().outcome, folder.result().value) == ("ok", "X")


def test_what_runs_import_is_imported_once(tasks):
    tasks.preload()
    assert set(PRELOADED) <= set(sys.modules)


def test_a_made_up_id_is_kept(tmp_path):
    (tmp_path / "minion").write_text(f"root_dir: {tmp_path}/root\n")
    made = read_settings(tmp_path)
    assert (tmp_path / "minion_id").read_text().strip() == made.id
    (tmp_path / "minion").write_text("master_port: high\n")
    with pytest.raises(BadMinionSettings, match="master_port"):
        read_settings(tmp_path)
