"""Workers that are forked ahead: they do the next run, and are given up when none comes. In real processes."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

import psutil
import pytest

from minion.agent.child_tasks import SPARE, ChildTasks
from minion.agent.workers import KEPT_SECONDS, Workers
from minion.config.settings import load_settings
from minion.spool.desired_state import FILE_NAME
from minion.spool.journal import RunFolders
from wire.messages import Call, Hello, RunResult


class Scene:
    """What makes workers, and grains that may change."""

    def __init__(self, folder):
        (folder / "minion").write_text(f"id: web1\nroot_dir: {folder}/root\n")
        settings = load_settings(folder)
        settings.cachedir.mkdir(parents=True)
        self.grains = {"id": "web1", "os": "X"}
        tasks = ChildTasks(
            settings=settings, umask=0o027, document=settings.cachedir / FILE_NAME, grains=lambda: self.grains
        )
        tasks.preload()
        self.workers = Workers(tasks.worker, lambda: self.grains)
        self.folders = RunFolders(settings.cachedir)
        self.numbers = iter(range(100))
        # Other tests of this process leave servers running.
        self.others = {each.pid for each in psutil.Process().children()}

    def children(self):
        """Processes that this scene has begun, and that still run."""
        return [each.pid for each in psutil.Process().children() if each.pid not in self.others]

    def spare(self):
        """The process that waits, once it does."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = [
                each for each in psutil.Process().children() if each.name() == SPARE and each.pid not in self.others
            ]
            if found:
                return found[0]
            time.sleep(0.005)
        raise AssertionError("there is none")

    def os_grain(self):
        """Process of the worker of a call, and what the call returned."""
        folder = self.folders.create(Call(run_id=f"c{next(self.numbers)}", fun="grains.get", args=("os",)))
        child = self.workers.start(folder).child
        while not child.receive()[1]:
            assert select.select([child.fd], [], [], 30)[0], "the worker does not end"
        assert child.reap() == 0
        return child.pid, folder.result().value


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    yield made
    made.workers.stop()


def test_the_run_that_follows_another_has_the_worker_that_waits(scene):
    scene.workers.tick(0.0)
    assert not scene.children(), "before the first run there is none"
    first, _ = scene.os_grain()
    scene.workers.ended()
    scene.workers.tick(1.0)
    waiting = scene.spare().pid
    assert waiting != first
    assert scene.os_grain() == (waiting, "X")
    assert scene.os_grain()[0] != waiting


def test_nobody_waits_for_long(scene):
    scene.workers.ended()
    scene.workers.tick(5.0)
    waiting = scene.spare()
    assert scene.workers.due_at == 5.0 + KEPT_SECONDS
    scene.workers.tick(5.0 + KEPT_SECONDS - 0.1)
    assert waiting.is_running()
    scene.workers.tick(scene.workers.due_at)
    assert not waiting.is_running()
    assert scene.workers.due_at == float("inf")


def test_another_run_makes_it_wait_longer_and_starts_no_second_one(scene):
    scene.workers.ended()
    scene.workers.tick(5.0)
    waiting = scene.spare().pid
    scene.workers.ended()
    scene.workers.tick(8.0)
    assert scene.children() == [waiting]
    assert scene.workers.due_at == 8.0 + KEPT_SECONDS


def test_new_grains_are_known_by_the_next_run(scene):
    scene.workers.ended()
    scene.workers.tick(0.0)
    waiting = scene.spare()
    scene.grains = {"id": "web1", "os": "Y"}
    assert scene.os_grain()[1] == "Y"
    assert not waiting.is_running()


def test_one_that_was_killed_costs_no_run(scene):
    scene.workers.ended()
    scene.workers.tick(0.0)
    waiting = scene.spare()
    waiting.kill()
    while waiting.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.005)
    assert scene.os_grain()[1] == "X"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_its_agent(controller, agents, number):
    agent = agents().start()
    controller.next(Hello)
    controller.send(Call(run_id="c1", fun="test.ping"))
    controller.next(RunResult)
    spares = []

    def is_there():
        spares[:] = [each for each in psutil.Process(agent.process.pid).children() if each.name() == SPARE]
        return spares

    controller.wait(is_there, "a spare worker")
    os.kill(agent.process.pid, number)
    agent.process.wait()
    controller.wait(lambda: not Path(f"/proc/{spares[0].pid}").exists(), "its end")


def test_a_call_of_an_agent_has_it(controller, agents):
    agent = agents().start()
    controller.next(Hello)
    controller.send(Call(run_id="c1", fun="test.ping"))
    controller.next(RunResult)
    spares = []

    def is_there():
        spares[:] = [each.pid for each in psutil.Process(agent.process.pid).children() if each.name() == SPARE]
        return spares

    controller.wait(is_there, "a spare worker")
    controller.send(Call(run_id="c2", fun="cmd.run", args=("echo $PPID",)))
    assert controller.result("c2").value == str(spares[0])
