"""The module haproxy on a real haproxy, by a stats socket of its own."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules

CONF = """global
  stats socket {top}/sock level admin
defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 1s
frontend www
  bind unix@{top}/front
  default_backend web
backend web
  server one 127.0.0.1:9 weight 10
  server two 127.0.0.1:9
backend webmore
  server one 127.0.0.1:9
"""


@pytest.fixture
def call():
    """call("get_weight", …): of a haproxy with two backends."""
    program = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if program is None:
        pytest.skip("there is no haproxy: Debian's package has it")
    modules = Modules(Context(minion_id="m"))
    with tempfile.TemporaryDirectory(prefix="saltern-ha-") as name:
        top = Path(name)
        (top / "conf").write_text(CONF.format(top=top))
        process = subprocess.Popen([program, "-db", "-f", top / "conf"], stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not (top / "sock").exists():
            assert time.monotonic() < end, "haproxy does not answer"
            time.sleep(0.02)
        yield lambda fun, *args, **given: modules.call(f"haproxy.{fun}", args, {"socket": f"{top}/sock", **given})
        process.kill()
        process.wait()


def test_what_there_is(call):
    assert (call("list_frontends"), call("show_frontends")) == (["www"], "www")
    assert (call("list_backends", servers=False), call("show_backends")) == (["web", "webmore"], "web\nwebmore")
    assert call("get_backend", "web")["one"] == {"status": "no check", "weight": 10, "bin": 0, "bout": 0}
    assert list(call("list_backends")["webmore"]) == ["one"]
    assert call("list_servers", "webmore") == "Name: one Status: no check Weight: 1 bIn: 0 bOut: 0"
    assert len(call("list_servers", "web", objectify=True)) == 2
    assert call("get_sessions", "one", "web") == "0"


def test_servers_are_switched(call):
    assert "Name: one Status: MAINT" in call("disable_server", "one", "web")["web"]
    assert call("wait_state", "web", "one", "maint", 0) is True
    assert call("wait_state", "web", "one", "no check", 0) is False
    assert set(call("disable_server", "one", "*")) == {"web", "webmore"}
    assert "MAINT" not in call("enable_server", "one", "*")["webmore"]
    assert set(call("disable_server", "two", "*")) == {"web"}
    call("set_state", "one", "web", "drain")
    assert call("get_backend", "web")["one"]["status"] == "DRAIN"
    call("set_state", "one", "web", "ready")
    assert call("wait_state", "web", "one", "no check", 0) is True


def test_weights(call):
    assert call("get_weight", "one", "web") == "10 (initial 10)"
    assert call("set_weight", "one", "web", 3) == "3 (initial 10)"
    assert call("set_weight", "one", "web", "50%") == "5 (initial 10)"


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("get_weight", "none", "web"), "No such server"),
        (("set_weight", "none", "web", 1), "No such server"),
        (("set_weight", "one", "web", "1; shutdown"), "weight must be"),
        (("set_weight", "one", "web", 999), "weight"),
        (("enable_server", "one", "none"), "No such backend"),
        (("enable_server", "none", "*"), "no backend has a server none"),
        (("disable_server", "one; show info", "web"), "is no name"),
        (("set_state", "one", "web", "gone"), "state must be one of"),
        (("get_backend", "none"), "haproxy has no backend none"),
        (("get_sessions", "none", "web"), "has no server none"),
        (("wait_state", "web", "none", "up", 0), "has no server none"),
    ],
)
def test_what_is_refused_is_a_failure(call, words, match):
    with pytest.raises(CallFailed, match=match):
        call(*words)


def test_a_socket_that_is_not_there(call):
    with pytest.raises(CallFailed, match="haproxy's socket /none: No such file"):
        call("show_backends", socket="/none")
