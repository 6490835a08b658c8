"""The service state on a real init script, made for the test."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.machine.plan import FileStat

NAME = "saltern-test-service"
pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0 or Path("/run/systemd/system").exists() or not Path("/usr/sbin/update-rc.d").exists(),
        reason="makes an init script: needs root, and a machine that systemd does not run",
    ),
]
SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides:          {name}
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: A service of the tests
### END INIT INFO
cd {folder} || exit 1
echo "$1" >> log
case "$1" in
  start) [ ! -e broken ] || {{ echo "it is broken" >&2; exit 1; }}
         [ -e dies ] && exit 0
         sleep 600 & echo $! > pid ;;
  stop) [ ! -e stays ] || exit 1
        [ ! -e pid ] || kill "$(cat pid)"; rm -f pid ;;
  restart) "$0" stop; "$0" start ;;
  reload) ;;
  status) [ -e pid ] && kill -0 "$(cat pid)" 2>/dev/null || exit 3 ;;
  *) exit 2 ;;
esac
"""


class OfInitScripts(LocalMachine):
    """This machine, as if it had no systemctl."""

    def stat(self, path: str) -> FileStat | None:
        return None if path.endswith("/systemctl") else super().stat(path)


class Offline(OfInitScripts):
    """This machine, as if systemctl were installed and systemd did not run."""

    def stat(self, path: str) -> FileStat | None:
        return LocalMachine.stat(self, "/bin/sh") if path == "/usr/bin/systemctl" else super().stat(path)


def _run(
    fun: str,
    name: str = NAME,
    *,
    test: bool = False,
    watched: bool = False,
    machine: LocalMachine | None = None,
    **arguments: Any,
) -> StateResult:
    machine = machine or OfInitScripts(sources_port=MemoryFiles({}))
    chunk = Chunk(state="service", fun=fun, id=name, name=name, sls="web", arguments=arguments)
    engine = StateEngine(machine, test=test)
    prepared = engine.plan(chunk, arguments, watched=watched)
    assert prepared is not None
    return engine.act(prepared)


def _said(result: StateResult) -> tuple[bool | None, str, dict[str, Any]]:
    return result.result, result.comment, dict(result.changes)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Path]:
    """Where the service has its log; files `broken` and `dies` there make it so."""
    script = Path("/etc/init.d") / NAME
    script.write_text(SCRIPT.format(name=NAME, folder=tmp_path))
    script.chmod(0o755)
    machine = LocalMachine(sources_port=MemoryFiles({}))
    yield tmp_path
    machine.run(["service", NAME, "stop"])
    machine.run(["update-rc.d", "-f", NAME, "remove"])
    script.unlink()


@pytest.mark.e2e
def test_a_service_is_started_and_stopped(service: Path) -> None:
    assert _said(_run("running", test=True)) == (None, f"Service {NAME} is set to start", {NAME: True})
    assert _said(_run("running")) == (True, f"Started service {NAME}", {NAME: True})
    assert _said(_run("running")) == (True, f"The service {NAME} is already running", {})
    assert _said(_run("dead", test=True)) == (None, f"Service {NAME} is set to be killed", {NAME: False})
    assert _said(_run("dead")) == (True, f"Service {NAME} was killed", {NAME: False})
    assert _said(_run("dead")) == (True, f"The service {NAME} is already dead", {})


@pytest.mark.e2e
def test_a_service_is_enabled_and_disabled(service: Path) -> None:
    started = _run("running", enable=True)
    assert _said(started) == (True, f"Service {NAME} has been enabled, and is running", {NAME: True})
    assert list(Path("/etc/rc2.d").glob(f"S??{NAME}"))
    assert _said(_run("enabled"))[1] == f"Service {NAME} is already enabled, and is in the desired state"
    assert _said(_run("disabled", test=True)) == (None, f"Service {NAME} set to be disabled", {NAME: True})
    disabled = _run("disabled")
    assert _said(disabled) == (True, f"Service {NAME} has been disabled, and is in the desired state", {NAME: True})
    assert not list(Path("/etc/rc2.d").glob(f"S??{NAME}"))
    assert _run("running", enable=True).comment == f"Service {NAME} has been enabled, and is in the desired state"
    killed = _run("dead", enable=False)
    assert killed.comment == f"Service {NAME} has been disabled, and is dead"


@pytest.mark.e2e
def test_a_watching_service_restarts_reloads_or_starts(service: Path) -> None:
    log = service / "log"
    assert _said(_run("running", test=True, watched=True)) == (None, "Service is set to be started", {NAME: True})
    assert _said(_run("running", watched=True)) == (True, "Service started", {NAME: True})
    assert _said(_run("running", watched=True)) == (True, "Service restarted", {NAME: True})
    assert "restart" in log.read_text().split()
    log.unlink()
    assert _said(_run("running", watched=True, reload=True, enable=True)) == (True, "Service reloaded", {NAME: True})
    assert {"reload"} <= set(log.read_text().split()) <= {"reload", "status"}
    assert _said(_run("dead", watched=True)) == (True, "Service stopped", {NAME: True})
    assert _said(_run("dead", watched=True)) == (True, "Service is already stopped", {})
    assert _run("enabled", watched=True).comment == "Unable to trigger watch for service.enabled"


@pytest.mark.e2e
def test_a_service_that_does_not_start_says_why(service: Path) -> None:
    (service / "broken").touch()
    result = _run("running")
    assert result.result is False
    assert result.comment == f"Service {NAME} failed to start: exit code 1\nit is broken"
    assert _run("running", watched=True).comment == "Failed to start the service: exit code 1\nit is broken"
    (service / "broken").unlink()
    (service / "dies").touch()
    died = _run("running")
    assert (died.result, dict(died.changes)) == (False, {})
    assert died.comment == f"Service {NAME} failed to start: the command to start it succeeded"


@pytest.mark.e2e
def test_a_process_can_stand_for_the_service(service: Path) -> None:
    assert _run("running", sig="no process has this in its command line 8e1").result is False
    assert _run("running", sig="pytest").comment == f"The service {NAME} is already running"


def test_a_service_that_is_not_there() -> None:
    missing = "no-such-service"
    unavailable = f"The named service {missing} is not available"
    for fun in ("running", "enabled"):
        assert _said(_run(fun, missing, test=True)) == (False, unavailable, {}), "nothing before it would bring it"
    for fun, result in (("running", False), ("enabled", False), ("dead", True), ("disabled", True)):
        assert _said(_run(fun, missing)) == (result, unavailable, {})


def test_where_systemd_does_not_run_and_systemctl_is_there_nothing_is_done() -> None:
    machine = Offline(sources_port=MemoryFiles({}))
    for fun in ("running", "dead"):
        for watched in (False, True):
            for test in (False, True):
                result = _run(fun, "no-such-service", machine=machine, watched=watched, test=test, enable=True)
                assert _said(result) == (True, "Running in OFFLINE mode. Nothing to do", {})
    assert _run("enabled", "no-such-service", machine=machine).result is False
    assert _said(_run("unmasked", "web", machine=machine)) == (True, "Service web was already unmasked", {})
    assert _run("masked", "web", machine=machine, test=True).comment == "Service web would be masked"


def _tested(*chunks: Chunk) -> list[StateResult]:
    """One test run of several states."""
    engine = StateEngine(OfInitScripts(sources_port=MemoryFiles({})), test=True)
    prepared = [engine.plan(chunk, chunk.arguments, watched=False) for chunk in chunks]
    return [engine.act(one) for one in prepared if one is not None]


def test_a_service_that_an_earlier_state_would_bring_would_be_stopped(tmp_path: Path) -> None:
    def chunk(state: str, fun: str, name: str, **arguments: Any) -> Chunk:
        return Chunk(state=state, fun=fun, id=name, name=name, sls="web", arguments=arguments)

    dead, disabled = chunk("service", "dead", "no-such-service"), chunk("service", "disabled", "no-such-service")
    motd = chunk("file", "managed", str(tmp_path / "motd"), contents="x")
    for before in ((), (motd,)):
        *_, one, two = _tested(*before, dead, disabled)
        assert one.result is two.result is True, "nothing that is planned brings a service"
    script = chunk("file", "managed", "/etc/init.d/no-such-service", contents="x")
    for before in (chunk("cmd", "run", "install it"), script):
        there = "Service no-such-service not present; if created in this state run, it would have been"
        running = chunk("service", "running", "no-such-service")
        for state, word in ((dead, "stopped"), (disabled, "disabled"), (running, "started")):
            _, one = _tested(before, state)
            assert (one.result, one.comment) == (None, f"{there} {word}")
        _, _, again, two = _tested(before, dead, dead, disabled)
        assert (again.result, again.comment) == (True, "The service no-such-service is already dead")
        assert (two.result, two.comment.partition(":")[0]) == (None, "What it would do is not known")


def test_a_user_that_an_earlier_state_would_make_knows_no_hosts() -> None:
    def chunk(state: str, fun: str, name: str, **arguments: Any) -> Chunk:
        return Chunk(state=state, fun=fun, id=name, name=name, sls="web", arguments=arguments)

    absent = chunk("ssh_known_hosts", "absent", "git.example.org", user="saltern-nobody-yet")
    [alone] = _tested(absent)
    assert (alone.result, alone.comment) == (False, "User saltern-nobody-yet does not exist")
    made, known = _tested(chunk("user", "present", "saltern-nobody-yet"), absent)
    assert (made.result, known.result, known.comment) == (None, True, "Host is already absent")


@pytest.mark.e2e
def test_a_service_that_fails_to_stop_is_disabled_all_the_same(service: Path) -> None:
    assert _run("running", enable=True).result is True
    (service / "stays").touch()
    result = _run("dead", enable=False)
    assert (result.result, dict(result.changes)) == (False, {NAME: True})
    assert result.comment.startswith(f"Service {NAME} failed to die: exit code 1")
    assert result.comment.endswith(f"Service {NAME} has been disabled")
    assert not list(Path("/etc/rc2.d").glob(f"S??{NAME}"))
    (service / "stays").unlink()


def test_bad_arguments_say_what_is_expected() -> None:
    assert "Invalid service name" in _run("running", "../../bin/sh").comment
    assert 'uses non-existent option "enabled"' in _run("running", enabled=True).comment
    for delay in ("soon", -1, 1e9, "nan"):
        assert "init_delay" in _run("running", init_delay=delay).comment
