"""Services of a real monit, with a configuration and a socket of its own."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules
from minion.providers import monit

CONF = """set daemon 1
set log {top}/log
set pidfile {top}/pid
set idfile {top}/id
set statefile {top}/state
set httpd unixsocket {top}/sock
  allow user:sesame
check file conf with path {top}/conf
check file other with path {top}/conf
"""


@pytest.fixture
def daemon(monkeypatch):
    """A folder; the command `monit` is for its daemon."""
    program = shutil.which("monit")
    if program is None:
        pytest.skip("there is no monit: Debian's package has it")
    with tempfile.TemporaryDirectory(prefix="saltern-monit-") as name:
        top = Path(name)
        (top / "conf").write_text(CONF.format(top=top))
        (top / "conf").chmod(0o700)
        (top / "bin").mkdir()
        (top / "bin/monit").write_text(f'#!/bin/sh\nexec {program} -c {top}/conf "$@"\n')
        (top / "bin/monit").chmod(0o755)
        monkeypatch.setenv("PATH", f"{top}/bin", prepend=":")
        yield top


@pytest.fixture
def running(daemon):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(["monit", "-I"], **quiet)
    wait(lambda: subprocess.run(["monit", "-B", "status"], check=False, **quiet).returncode == 0)
    yield daemon
    process.kill()
    process.wait()


@pytest.fixture
def call():
    modules = Modules(Context(minion_id="m"))
    return lambda fun, *args, **given: modules.call(f"monit.{fun}", args, given)


def wait(true):
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_service_is_watched_or_not(running, converge, call):
    assert converge("monit.monitor", "conf").comment == "conf is being being monitored."
    stopped = converge("monit.unmonitor", "conf")
    assert (stopped.changes, stopped.comment) == ({"conf": "Not monitored"}, "conf stopped being monitored.")
    wait(lambda: call("summary", "conf") == {"File": {"conf": "Not monitored"}})
    assert converge("monit.unmonitor", "conf").comment == "conf is not being monitored."
    started = converge("monit.monitor", "conf")
    assert (started.changes, started.comment) == ({"conf": "Running"}, "conf started to be monitored.")
    wait(lambda: call("status", "conf")["monitoring status"] == "Monitored")
    missing = converge("monit.monitor", "none")
    assert (missing.result, missing.comment) == (False, "none not found in configuration.")
    assert converge("monit.monitor", "-c").result is False


def test_the_module(running, call):
    assert set(call("summary")["File"]) == {"conf", "other"}
    assert call("status", "none") == "No such service"
    assert call("status")["other"]["monitoring mode"] == "active"
    assert call("configtest") == {"comment": "Syntax OK", "stdout": "Control file syntax OK", "result": True}
    assert call("version").count(".") >= 1
    assert call("unmonitor", "conf") is True
    assert call("monitor", "conf") is True
    assert call("reload") is True
    with pytest.raises(CallFailed, match='no service named "none"'):
        call("start", "none")
    identity = call("id")
    assert len(identity) == 32
    new = call("id", reset=True)
    assert (len(new), call("id")) == (32, new)
    assert new != identity


def test_without_a_daemon(daemon, converge, call):
    assert "daemon is not running" in converge("monit.monitor", "conf").comment
    assert call("summary") == {"monit": "daemon is not running", "result": False}
    with (daemon / "conf").open("a") as conf:
        conf.write("check nothing\n")
    assert call("configtest")["comment"] == "Syntax Error"


def test_what_is_pending_counts():
    text = "Monit 5.33.0 uptime: 0m\n\nProcess 'a b'\n  status                       {}\n  pid            1\n"
    states = {"OK": True, "Not monitored": False, "Not monitored - monitor pending": True,
              "OK - unmonitor pending": False, "Does not exist": True}  # fmt: skip
    for status, monitored in states.items():
        [(name, found)] = monit.read(text.format(status)).items()
        assert (name, found.kind, found.monitored, found.rows["pid"]) == ("a b", "Process", monitored, "1")
