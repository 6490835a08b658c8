"""supervisord: processes and groups of a real one, which pip brings."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.machine.plan import Plan
from minion.states import supervisord

CONFIGURATION = """
[unix_http_server]
file={top}/sock
[supervisord]
logfile={top}/log
pidfile={top}/pid
childlogdir={top}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://{top}/sock
[include]
files = {top}/conf.d/*.conf
"""
PROGRAM = "[program:{name}]\ncommand=sleep {seconds}\nautostart={autostart}\nstartsecs=0\nnumprocs={count}\n"


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtualenv that has supervisor."""
    made = tmp_path_factory.mktemp("supervisor") / "venv"
    subprocess.run([sys.executable, "-m", "venv", made], check=True)
    done = subprocess.run(
        [made / "bin/pip", "install", "-q", "supervisor"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"there is no index of Python packages that has supervisor: {done.stderr[-200:]}")
    return made


class Supervised:
    """A supervisord, its programs, and what it says of them."""

    def __init__(self, environment: Path, top: Path) -> None:
        self.top, self.conf = top, top / "supervisord.conf"
        (top / "conf.d").mkdir()
        self.conf.write_text(CONFIGURATION.format(top=top))
        self.place = {"conf_file": str(self.conf), "bin_env": str(environment)}
        self._ctl = [environment / "bin/supervisorctl", "-c", self.conf]
        self.server = subprocess.Popen(
            [environment / "bin/supervisord", "-n", "-c", self.conf], stdout=subprocess.DEVNULL
        )
        self.wait(lambda: (top / "sock").exists())

    def wait(self, what: Any) -> None:
        until = time.monotonic() + 60
        while not what():
            assert time.monotonic() < until, self.states()
            time.sleep(0.02)

    def program(
        self, name: str, *, seconds: int = 1000, autostart: bool = True, count: int = 1, taken: bool = True
    ) -> None:
        text = PROGRAM.format(name=name, seconds=seconds, autostart=str(autostart).lower(), count=count)
        text += "process_name=%(program_name)s_%(process_num)d\n" if count > 1 else ""
        (self.top / f"conf.d/{name}.conf").write_text(text)
        if taken:
            self.say("update")

    def say(self, *words: str) -> str:
        return subprocess.run([*self._ctl, *words], capture_output=True, text=True, check=False).stdout

    def states(self) -> dict[str, str]:
        return {row.split()[0]: row.split()[1] for row in self.say("status").splitlines()}

    def pid(self, name: str) -> str:
        return self.say("pid", name).strip()

    def call(self, fun: str, *args: Any, **given: Any) -> Any:
        return Modules(Context(minion_id="m")).call(f"supervisord.{fun}", args, {**self.place, **given})


@pytest.fixture
def supervised(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    made = Supervised(environment, tmp_path_factory.mktemp("s"))
    yield made
    made.server.terminate()
    made.server.wait(30)


@pytest.fixture
def machine() -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles({}))


@pytest.fixture
def converge(supervised: Supervised, machine: LocalMachine, tmp_path: Path) -> Any:
    """converge("running", "web"): under test first, which changes nothing and foretells; twice, which does nothing."""

    def once(fun: str, name: str, given: dict[str, Any], *, test: bool) -> StateResult:
        one = Chunk(state="supervisord", fun=fun, id="x", name=name, sls="s", arguments=given)
        engine = StateEngine(machine, test=test, backup_dir=str(tmp_path / "kept"))
        return run({"k": one}, engine, test=test, clock=lambda: 0.0)["k"]

    def call(fun: str, name: str) -> StateResult:
        before = supervised.say("status")
        foretold = once(fun, name, supervised.place, test=True)
        assert [row.split()[:2] for row in supervised.say("status").splitlines()] == [
            row.split()[:2] for row in before.splitlines()
        ]
        made = once(fun, name, supervised.place, test=False)
        if made.result:
            assert foretold.changes == made.changes
            assert (foretold.result is None) == bool(made.changes)
            assert once(fun, name, supervised.place, test=False).changes == {}
            assert once(fun, name, supervised.place, test=True).result is True
        return made

    return call


def test_a_process_that_is_not_there_is_added_and_started(supervised, converge):
    supervised.program("web", autostart=False, taken=False)
    made = converge("running", "web")
    assert (made.result, made.comment) == (True, "Starting: web")
    assert made.changes == {"web": "Adding service: web Starting: web"}
    assert supervised.states() == {"web": "RUNNING"}


def test_a_process_is_started_and_stopped(supervised, converge):
    supervised.program("web", autostart=False)
    started = converge("running", "web")
    assert (started.comment, started.changes) == ("Starting service: web", {"web": "Starting service: web"})
    there = converge("running", "web")
    assert there.changes == {}
    stopped = converge("dead", "web")
    assert (stopped.comment, stopped.changes) == ("Stopping service: web", {"web": "Stopping service: web"})
    assert supervised.states() == {"web": "STOPPED"}
    assert converge("dead", "web").comment == "Service web is not running"
    assert converge("dead", "none").comment == "Service none doesn't exist"


@pytest.mark.parametrize("name", ["web:", "web:*"])
def test_a_group_is_one_thing(supervised, converge, name):
    supervised.program("web", count=2)
    supervised.program("other")
    supervised.wait(lambda: set(supervised.states().values()) == {"RUNNING"})
    supervised.say("stop", "web:web_1")
    assert converge("running", name).changes == {"web:": "Starting group: web:"}
    assert converge("dead", name).changes == {"web:": "Stopping service: web:"}
    assert supervised.states() == {"other": "RUNNING", "web:web_0": "STOPPED", "web:web_1": "STOPPED"}


def test_what_has_changed_restarts_what_watches_it(supervised, machine):
    supervised.program("web")
    before = supervised.pid("web")
    place = supervisord.SupervisorPlace(**supervised.place)
    plan = supervisord.mod_watch(machine, "web", sfun="running", place=place)
    assert (plan.pending, plan.done) == ("Service 'web' will be restarted", "Restarting service: web")
    for change in plan.changes:
        change.act(machine)
    supervised.wait(lambda: supervised.states() == {"web": "RUNNING"})
    assert supervised.pid("web") != before
    [change] = supervisord.mod_watch(machine, "web", sfun="dead", place=place).changes
    change.act(machine)
    assert supervised.states() == {"web": "STOPPED"}
    [change] = supervisord.mod_watch(machine, "web", sfun="running", restart=False, place=place).changes
    assert change.reported == "Starting service: web"


def test_an_update_takes_a_changed_configuration(supervised, machine):
    supervised.program("web")
    before = supervised.pid("web")
    supervised.program("web", seconds=2000, taken=False)
    plan = supervisord.running(
        machine, "web", update=True, restart=True, place=supervisord.SupervisorPlace(**supervised.place)
    )
    [change] = plan.changes
    assert change.reported == "Restarting service: web"
    change.act(machine)
    supervised.wait(lambda: supervised.states() == {"web": "RUNNING"})
    after = supervised.pid("web")
    assert after != before
    assert Path(f"/proc/{after}/cmdline").read_bytes() == b"sleep\x002000\x00"


def test_what_cannot_be_asked_is_said(machine, tmp_path, environment):
    with pytest.raises(StateFailed, match=f"there is no supervisorctl at {tmp_path}/none"):
        supervisord.running(machine, "web", place=supervisord.SupervisorPlace(bin_env=str(tmp_path / "none")))
    conf = tmp_path / "conf"
    conf.write_text(CONFIGURATION.format(top=tmp_path))
    nobody = supervisord.SupervisorPlace(conf_file=str(conf), bin_env=str(environment))
    with pytest.raises(StateFailed, match="does not reach supervisord"):
        supervisord.dead(machine, "web", place=nobody)
    with pytest.raises(StateFailed, match="does not reach supervisord"):
        supervisord.running(machine, "web", place=nobody)
    with pytest.raises(StateFailed, match="does not reach supervisord"):
        supervisord.running(machine, "web", place=nobody._replace(conf_file=str(tmp_path / "no conf")))
    if os.geteuid() == 0:
        with pytest.raises(StateFailed, match="supervisorctl status: "):
            supervisord.running(machine, "web", place=nobody._replace(user="nobody"))
    brought = supervisord.running(machine, "web", place=nobody, to_come={("pkg", "supervisor")})
    assert brought.pending == "Service web will be started once supervisord is there"


def test_a_program_that_does_not_start_is_a_failure(supervised, converge):
    (supervised.top / "conf.d/bad.conf").write_text("[program:bad]\ncommand=/nowhere\nautostart=false\n")
    supervised.say("update")
    made = converge("running", "bad")
    assert (made.result, made.comment) == (False, "bad: ERROR (no such file)")


def test_a_program_that_ends_again_and_again_is_a_failure(supervised, machine):
    (supervised.top / "conf.d/bad.conf").write_text("[program:bad]\ncommand=false\nstartretries=1000\n")
    supervised.say("update")
    supervised.wait(lambda: supervised.states()["bad"] == "BACKOFF")
    place = supervisord.SupervisorPlace(**supervised.place)
    # It is STARTING for a moment, each second or so.
    plans: list[Plan] = []

    def fails():
        plans.append(supervisord.running(machine, "bad", place=place))
        return plans[-1].result is False

    supervised.wait(fails)
    plan = plans[-1]
    assert plan.changes == ()
    assert plan.comment.startswith("supervisord starts it again and again: bad: BACKOFF ")


def test_a_program_that_is_about_to_run_is_left_alone(supervised, converge):
    text = "[program:slow]\ncommand=sleep 1000\nstartsecs=600\n"
    (supervised.top / "conf.d/slow.conf").write_text(text)
    supervised.say("update")
    assert supervised.states() == {"slow": "STARTING"}
    assert converge("running", "slow").changes == {}


def test_the_module_says_what_supervisorctl_says(supervised):
    supervised.program("web", autostart=False)
    call = supervised.call
    assert call("status_bool", "web") is False
    assert call("status_bool", "web", expected_state="stopped") is True
    assert call("start", "web") == "web: started"
    assert call("status")["web"]["state"] == "RUNNING"
    assert call("status", "web")["web"]["reason"].startswith("pid ")
    assert call("status_raw", "web").split()[:2] == ["web", "RUNNING"]
    assert call("restart", "web") == "web: stopped\nweb: started"
    assert call("custom", "stop web") == "web: stopped"
    assert Modules(Context(minion_id="m")).call("supervisord.options", ("web", str(supervised.conf))) == {
        "command": "sleep 1000", "autostart": False, "startsecs": 0, "numprocs": 1,
    }  # fmt: skip
    with pytest.raises(CallFailed, match="no process 'none'"):
        Modules(Context(minion_id="m")).call("supervisord.options", ("none", str(supervised.conf)))
    supervised.program("more", autostart=False, taken=False)
    assert call("reread") == "more: available"
    assert call("add", "more") == "more: added process group"
    assert call("remove", "more") == "more: removed process group"
    assert call("update") == "more: added process group"
    assert call("stop") in ("", "web: ERROR (not running)\nmore: ERROR (not running)")
