"""The module nginx on a real nginx, with a prefix and a port of its own."""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from minion.execution import CallFailed, Context, Modules

CONF = """pid {top}/pid;
error_log {top}/error.log;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {top}/t; proxy_temp_path {top}/t; fastcgi_temp_path {top}/t; uwsgi_temp_path {top}/t;
  scgi_temp_path {top}/t;
  server {{ listen 127.0.0.1:{port}; location /status {{ stub_status; }}
    location /text {{ return 200 "1 2 3"; }} }}
}}
"""


@pytest.fixture
def nginx(monkeypatch):
    """Folder and port; the command `nginx` is for its configuration."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if program is None:
        pytest.skip("there is no nginx: Debian's package nginx-light has it")
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="saltern-nginx-") as name:
        top = Path(name)
        (top / "conf").write_text(CONF.format(top=top, port=port))
        (top / "bin").mkdir()
        (top / "bin/nginx").write_text(f'#!/bin/sh\nexec {program} -c {top}/conf "$@"\n')
        (top / "bin/nginx").chmod(0o755)
        monkeypatch.setenv("PATH", f"{top}/bin", prepend=":")
        yield top, port
        if (top / "pid").exists():
            subprocess.run(["nginx", "-s", "stop"], check=False)


@pytest.fixture
def call():
    modules = Modules(Context(minion_id="m"))
    return lambda fun, *args, **given: modules.call(f"nginx.{fun}", args, given)


def test_what_it_tells_of_itself(nginx, call):
    assert call("version")[0].isdigit()
    built = call("build_info")
    assert built["info"][0].startswith("nginx version: nginx/")
    assert any(one.startswith("--prefix=") for one in built["build arguments"])
    assert all(one.startswith("--") for one in built["build arguments"])
    tested = call("configtest")
    assert (tested["comment"], tested["result"]) == ("Syntax OK", True)
    (nginx[0] / "conf").write_text("nonsense;")
    tested = call("configtest")
    assert (tested["comment"], tested["result"]) == ("Syntax Error", False)
    assert 'unknown directive "nonsense"' in tested["stderr"]


def test_it_is_started_asked_and_stopped(nginx, call):
    top, port = nginx
    assert call("signal", "start") == 'Command: "nginx" completed successfully!'
    found = call("status", f"http://127.0.0.1:{port}/status")
    assert (found["active connections"], found["accepted"], found["requests"]) == (1, 1, 1)
    assert list(found) == ["active connections", "accepted", "handled", "requests", "reading", "writing", "waiting"]
    with pytest.raises(CallFailed, match="404"):
        call("status", f"http://127.0.0.1:{port}/none")
    with pytest.raises(CallFailed, match="is no page of nginx's stub_status"):
        call("status", f"http://127.0.0.1:{port}/text")
    with pytest.raises(CallFailed, match="is no address"):
        call("status", "file:///etc/passwd")
    assert call("signal", "reload")
    assert call("signal", "quit")
    end = time.monotonic() + 20
    while (top / "pid").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    with pytest.raises(CallFailed, match="pid"):
        call("signal", "stop")
    with pytest.raises(CallFailed, match="signal must be one of"):
        call("signal", "none")
    with pytest.raises(CallFailed, match=f"127.0.0.1:{port}/status: "):
        call("status", f"http://127.0.0.1:{port}/status")


def test_without_nginx_it_is_said(call, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CallFailed, match="nginx is not there"):
        call("version")
