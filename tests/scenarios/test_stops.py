"""A controller that is told to stop is gone soon, whatever it is waiting for."""

import os
import signal
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
import yaml
from rig import SALTERN, free_ports

ENDLESS = """#!py
import time
def run():
    open(__grains__["root"] + "-begun", "w").close()
    time.sleep(3600)
"""


def stopped(rig):
    """SIGTERM ends it, all is closed, and it says nothing that frightens."""
    os.kill(rig.pid("controller"), signal.SIGTERM)
    assert rig.exit_code("controller", within=10) == 0, rig.log("controller", lines=50)
    assert "Traceback" not in rig.log("controller", lines=1000)
    assert [*rig.directory.rglob("*.sqlite")]
    assert not [*rig.directory.rglob("*.sqlite-wal")]  # SQLite removes it when a database is closed


@contextmanager
def dripping():
    """A server that answers each request with a byte of a header now and then: no time limit of a read ever passes."""
    asked, over = threading.Event(), threading.Event()

    def drip(connection):
        with connection, suppress(OSError):
            connection.recv(65536)
            asked.set()
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not over.wait(0.2):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(8) as pool:

        def serve():
            with suppress(OSError):
                while True:
                    pool.submit(drip, server.accept()[0])

        pool.submit(serve)
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("kind", ["http_json", "vault"])
def test_a_server_of_pillar_or_secrets_that_hangs_is_not_waited_for(make_rig, kind):
    with dripping() as (url, asked):
        option = {
            "http_json": {"ext_pillar": [{"http_json": url}]},
            "vault": {"vault": {"server": {"url": url}, "auth": {"token": "s.t"}}},
        }
        rig = make_rig(minions={"web1": {}}, **option[kind])
        (rig.work / "pillar" / "top.sls").write_text("base: {'*': [secret]}")
        (rig.work / "pillar" / "secret.sls").write_text("{{ salt['vault.read_secret']('secret/x') }}")
        rig.push("first")
        assert asked.wait(30)
        stopped(rig)


def test_a_compile_that_hangs_is_not_waited_for(make_rig):
    rig = make_rig(minions={"web1": {}}, compile_confinement=False, compile_timeout=3600)
    rig.wait_applied(rig.push("first"))
    (rig.work / "states" / "endless.sls").write_text(ENDLESS)
    (rig.work / "states" / "top.sls").write_text("base: {'*': [endless]}")
    rig.push("endless")
    root = rig.root("web1")
    rig.wait("the compile to hang", root.with_name(root.name + "-begun").exists)
    stopped(rig)


def test_a_compile_that_has_just_begun_is_not_waited_for(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})

    def hellos():
        return rig.log("controller", lines=10_000).count("minion connected")

    rig.wait_applied(rig.push("first"))
    stopped(rig)
    for _ in range(3):
        before = hellos()
        rig.start_controller()
        rig.wait("a Hello", lambda before=before: hellos() > before)
        stopped(rig)


def test_a_remote_that_hangs_is_not_waited_for(make_rig):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        rig = make_rig(minions={"web1": {}}, gitfs_remotes=[f"http://127.0.0.1:{silent.getsockname()[1]}/states.git"])
        with silent.accept()[0] as asked:
            assert asked.recv(1)
            stopped(rig)


def test_a_second_controller_with_the_same_store_does_not_start(make_rig, tmp_path):
    rig = make_rig(minions={"web1": {}})
    settings = yaml.safe_load((rig.config / "controller").read_text())
    ports = dict(zip(("publish_port", "ret_port", "http_port"), free_ports(3), strict=True))
    (tmp_path / "controller").write_text(yaml.safe_dump({**settings, **ports, "sock_dir": str(tmp_path / "run")}))
    done = subprocess.run([*SALTERN, "controller", "-c", str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"used by another controller (process {rig.pid('controller')})" in done.stderr
    rig.wait_applied(rig.push("still there"))
