"""The walls around a process that compiles, tried from inside, in processes of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from controller.compilation.sandbox import SandboxPolicy, Unconfined, confine

_TRY = """
import json, os, socket, subprocess, sys, urllib.request
import msgspec
from controller.compilation.sandbox import SandboxPolicy, confine
confine(msgspec.json.decode(sys.argv[1], type=SandboxPolicy))
try:
    {deed}
except Exception as error:
    print(type(error).__name__)
else:
    print("done")
"""


def _inside(sandbox_policy: SandboxPolicy, deed: str) -> str:
    import msgspec

    command = [sys.executable, "-P", "-c", _TRY.format(deed=deed), msgspec.json.encode(sandbox_policy).decode()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "SECRET": "x"})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def _landlock() -> None:
    try:
        code = "from controller.compilation.sandbox import *; confine(SandboxPolicy())"
        subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no Landlock here: {error.stderr.splitlines()[-1]}")


def test_what_is_not_granted_can_not_be_read(tmp_path: Path) -> None:
    key = tmp_path / "controller.key"
    key.write_text("secret")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "top.sls").write_text("base: {}")
    (tree / "out").symlink_to(key)
    sandbox_policy = SandboxPolicy(readable=(str(tree), str(tmp_path / "not-there")))
    assert _inside(sandbox_policy, f"open({str(tree / 'top.sls')!r}).read()") == "done"
    assert _inside(sandbox_policy, f"open({str(key)!r}).read()") == "PermissionError"
    assert _inside(sandbox_policy, f"open({str(tree / 'out')!r}).read()") == "PermissionError"
    assert _inside(sandbox_policy, f"os.listdir({str(tmp_path)!r})") == "PermissionError"
    assert _inside(sandbox_policy, "open('/etc/shadow').read()") == "PermissionError"
    assert _inside(sandbox_policy, "open('/etc/passwd').read()") == "PermissionError"
    assert _inside(sandbox_policy, f"open('/proc/{os.getpid()}/environ').read()") == "PermissionError"


def test_nothing_is_written_but_where_it_is_granted(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    sandbox_policy = SandboxPolicy(readable=(str(other),), writable=(str(own),))
    assert _inside(sandbox_policy, f"open({str(own / 'a')!r}, 'w').write('x'); os.unlink({str(own / 'a')!r})") == "done"
    assert _inside(sandbox_policy, f"open({str(other / 'a')!r}, 'w')") == "PermissionError"
    assert _inside(sandbox_policy, f"os.rename({str(own)!r}, {str(other / 'own')!r})") in ("PermissionError", "OSError")
    assert list(other.iterdir()) == []


def test_modules_of_python_can_be_loaded_and_programs_not_run() -> None:
    assert _inside(SandboxPolicy(), "import httpx, gnupg, hvac, sqlite3, mako.template") == "done"
    assert _inside(SandboxPolicy(), "subprocess.run(['/bin/true'])") == "PermissionError"
    assert _inside(SandboxPolicy(), "os.execv('/bin/true', ['true'])") == "PermissionError"
    assert _inside(SandboxPolicy(programs=True), "subprocess.run(['/bin/true'], check=True)") == "done"
    assert (
        _inside(SandboxPolicy(programs=True), "subprocess.run(['/bin/cat', '/etc/shadow'], check=True)")
        == "CalledProcessError"
    )


def test_the_controllers_socket_is_out_of_reach(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "controller.sock"))
        server.listen()
        deed = f"socket.socket(socket.AF_UNIX).connect({str(tmp_path / 'controller.sock')!r})"
        for sandbox_policy in (
            SandboxPolicy(),
            SandboxPolicy(network=True),
            SandboxPolicy(readable=(str(tmp_path),), writable=(str(tmp_path),)),
        ):
            assert _inside(sandbox_policy, deed) == "PermissionError"


def test_the_network_is_reached_only_when_it_is_granted() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        deed = f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
        assert _inside(SandboxPolicy(), deed) == "PermissionError"
        assert _inside(SandboxPolicy(programs=True), deed) == "PermissionError"
        assert _inside(SandboxPolicy(network=True), deed) == "done"
    assert _inside(SandboxPolicy(), "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)") == "PermissionError"
    assert _inside(SandboxPolicy(network=True), "socket.getaddrinfo('localhost', 80)") == "done"


def test_other_processes_are_left_alone() -> None:
    # Signals stay among the confined since version 6 of the interface; the parent is the one who must live.
    assert _inside(SandboxPolicy(), "os.kill(os.getppid(), 0)") in ("PermissionError", "done")
    assert _inside(SandboxPolicy(), "os.kill(os.getpid(), 0)") == "done"


def test_it_is_said_where_there_is_no_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "freebsd14")
    with pytest.raises(Unconfined, match="Linux"):
        confine(SandboxPolicy())
