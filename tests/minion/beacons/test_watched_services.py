"""Which states are touched when the process of a service ends: real processes, real pidfds."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from highstate.types import Chunk
from minion.beacons import watched_services
from minion.beacons.watched_services import WatchedServices, managed_services


def service(name, fun="running", **arguments):
    return Chunk(state="service", fun=fun, id=name, name=name, sls="s", arguments=arguments)


@pytest.fixture
def watch(monkeypatch):
    monkeypatch.setattr(watched_services, "FIRST_LOOK", 0.05)
    watch = WatchedServices()
    yield watch
    watch.close()


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a process that a service may have: by a pid file, or a word in its command line."""
    monkeypatch.setattr(watched_services, "_RUN", str(tmp_path))
    started = []

    def one(word):
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", word])
        started.append(process)
        return process

    yield one
    for process in started:
        process.kill()
        process.wait()


def end(process):
    process.kill()
    process.wait()


def told(watch, *, seconds=20.0):
    """What is told next."""
    until = time.monotonic() + seconds
    while (now := time.monotonic()) < until:
        wait = max(0.0, min(until, watch.due_at(now)) - now)
        ready, _, _ = select.select(watch.readers(now), [], [], wait)
        if found := watch.look(time.monotonic(), ready):
            return set(found)
    return set()


def watched(watch, count, *, seconds=20.0):
    """Until so many processes are watched."""
    until = time.monotonic() + seconds
    while len(watch.readers(0.0)) != count:
        assert time.monotonic() < until
        watch.look(time.monotonic())
        time.sleep(0.01)


def test_services_that_are_kept_running():
    chunks = {
        "a": service("nginx"),
        "b": service("nginx", sig="nginx: master"),
        "c": service("cron", "dead"),
        "d": service("cron", "enabled"),
        "e": Chunk(state="file", fun="managed", id="x", name="/x", sls="s", arguments={}),
        "f": service("../x"),
    }
    assert managed_services(chunks) == {"nginx": (("a", "b"), "nginx: master")}


def test_a_process_that_ends_touches_its_states_and_those_of_no_other(watch, start):
    one, other = start("saltern-one-x"), start("saltern-other-x")
    watch.follow({"a": service("one", sig="saltern-one-x"), "b": service("other", sig="saltern-other-x")}, 0.0)
    watched(watch, 2)
    end(one)
    assert told(watch) == {"a"}
    assert len(watch.readers(0.0)) == 1
    end(other)
    assert told(watch) == {"b"}


def test_a_process_whose_end_nobody_has_asked_for_is_told_when_it_ends_and_when_it_is_gone(
    watch, tmp_path, monkeypatch
):
    name = f"unreaped{os.getpid() % 1000}"
    monkeypatch.setattr(watched_services, "_RUN", str(tmp_path))
    code = f"open('/proc/self/comm', 'w').write('{name}'); import time; time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code])
    while Path(f"/proc/{process.pid}/comm").read_text().strip() != name:
        time.sleep(0.01)
    (tmp_path / f"{name}.pid").write_text(f"{process.pid}\n")
    watch.follow({"a": service(name)}, time.monotonic())
    watched(watch, 1)
    process.kill()
    assert told(watch) == {"a"}
    assert told(watch, seconds=0.5) == set()
    assert watch.readers(0.0) == (), "it is no process of the service"
    process.wait()
    assert told(watch) == {"a"}
    assert told(watch, seconds=0.3) == set()


def test_a_service_that_runs_again_before_its_process_is_gone_is_not_told_twice(watch, start):
    before = start("saltern-twice-x")
    watch.follow({"a": service("twice", sig="saltern-twice-x")}, time.monotonic())
    watched(watch, 1)
    before.kill()
    assert told(watch) == {"a"}
    start("saltern-twice-x")
    watched(watch, 1)
    before.wait()
    assert told(watch, seconds=0.3) == set()


def test_a_service_that_comes_later_or_again_is_watched(watch, start):
    watch.follow({"a": service("late", sig="saltern-late-x")}, time.monotonic())
    assert watch.readers(0.0) == ()
    for _ in range(2):
        process = start("saltern-late-x")
        watched(watch, 1)
        end(process)
        assert told(watch) == {"a"}


def test_the_pid_file_counts_where_the_process_has_the_name(watch, start, tmp_path):
    process = start("by-pid-file")
    name = Path(sys.executable).name[:15]
    # The kernel names it after it has closed its files, which is what Popen waits for.
    while Path(f"/proc/{process.pid}/comm").read_text().strip() != name:
        time.sleep(0.01)
    (tmp_path / f"{name}.pid").write_text(f"{process.pid}\n")
    (tmp_path / "stranger.pid").write_text(f"{os.getpid()}\n")
    watch.follow({"a": service(name), "b": service("stranger")}, time.monotonic())
    watched(watch, 1)
    end(process)
    assert told(watch) == {"a"}


def test_the_main_process_of_a_control_group_is_the_one_that_counts(watch, tmp_path, monkeypatch):
    code = "import subprocess, sys; subprocess.run(['sleep', '600'])"
    main = subprocess.Popen([sys.executable, "-c", code])
    try:
        children = []
        while not children:
            children = Path(f"/proc/{main.pid}/task/{main.pid}/children").read_text().split()
        group = tmp_path / "web.service"
        group.mkdir()
        (group / "cgroup.procs").write_text(f"{children[0]}\n{main.pid}\n")
        monkeypatch.setattr(watched_services, "_GROUPS", (str(tmp_path),))
        watch.follow({"a": service("web")}, time.monotonic())
        watched(watch, 1)
        (group / "cgroup.procs").write_text("")
        os.kill(int(children[0]), 9)  # and with it the main process, which waits for it
        main.wait()
        assert told(watch) == {"a"}
    finally:
        main.kill()
        main.wait()


def test_what_a_run_restarts_is_no_doing_of_others(watch, start):
    before, dies = start("saltern-run-x"), start("saltern-dies-x")
    watch.follow({"a": service("run", sig="saltern-run-x"), "b": service("dies", sig="saltern-dies-x")}, 0.0)
    watched(watch, 2)
    watch.state_run(running=True, now=time.monotonic())
    end(before)
    end(dies)
    start("saltern-run-x")
    assert told(watch, seconds=0.3) == set()
    watch.state_run(running=False, now=time.monotonic())
    assert told(watch) == {"b"}
    assert len(watch.readers(0.0)) == 1


def test_a_document_without_the_service_lets_go_of_it(watch, start):
    process = start("saltern-gone-x")
    watch.follow({"a": service("gone", sig="saltern-gone-x")}, 0.0)
    watched(watch, 1)
    watch.follow({}, time.monotonic())
    assert watch.readers(0.0) == ()
    end(process)
    assert told(watch, seconds=0.3) == set()


def test_there_are_bounds(watch, monkeypatch):
    monkeypatch.setattr(watched_services, "MOST_SERVICES", 2)
    monkeypatch.setattr(watched_services, "LONGEST_LOOK", 0.4)
    watch.follow({str(n): service(f"saltern-none-{n}") for n in range(3)}, 0.0)
    assert "2 of 3 services are watched" in watch.problems[0]
    pauses = []
    for _ in range(5):
        now = watch.due_at(0.0)
        watch.look(now)
        pauses.append(round(watch.due_at(now) - now, 3))
    assert pauses == [0.1, 0.2, 0.4, 0.4, 0.4]
