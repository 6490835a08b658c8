"""What is seen of files, the system and a controller's ports: the real ones."""

from __future__ import annotations

import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import zmq

from minion.doctor import looks
from wire.address import Bind
from wire.keys import KeyPair
from wire.messages import Heartbeat
from wire.server.server import Server
from wire.server.types import Identity


def pair() -> KeyPair:
    public, secret = (each.decode() for each in zmq.curve_keypair())
    return KeyPair(public=public, secret=secret)


def test_files(tmp_path):
    path = tmp_path / "key"
    assert looks.look_at_file(path) is None
    path.write_text("x")
    path.chmod(0o640)
    found = looks.look_at_file(path)
    assert (found.mode, found.uid, found.is_file, found.is_link) == (0o640, os.geteuid(), True, False)
    (tmp_path / "link").symlink_to(path)
    assert looks.look_at_file(tmp_path / "link").is_link
    assert looks.look_at_file(path / "below") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def _same_space(folder):
    space = os.statvfs(folder)
    return looks.free_space(folder / "not" / "made" / "yet")[0] == space.f_bavail * space.f_frsize


def test_the_system(tmp_path):
    assert any(_same_space(tmp_path) for _ in range(1000)), "others write meanwhile, but not always"
    assert looks.random_is_ready()
    assert all(each is None or each > 0 for each in looks.inotify_limits())
    assert looks.descriptor_limit() == looks.descriptor_limit(os.getpid()) > 0
    assert looks.descriptor_limit(2**22 + 1) == looks.descriptor_limit()


def test_units(tmp_path):
    assert looks.unit_state("x.service", run=tmp_path / "none") is None
    program = tmp_path / "systemctl"
    program.write_text("#!/bin/sh\necho failed\nexit 3\n")
    program.chmod(0o755)
    assert looks.unit_state("x.service", run=tmp_path, systemctl=str(program)) == "failed"
    assert looks.unit_state("x.service", run=tmp_path, systemctl=str(tmp_path / "none")) is None


@pytest.fixture
def port_of_controller():
    """A controller's sockets, and the key of a minion that it has accepted."""
    own, known = pair(), pair()

    class Registry:
        def identity(self, key):
            return Identity(id="web1", state="accepted") if key == known.public else None

    bind = Bind(publish_port=0, request_port=0)
    server = Server(bind, own, Registry(), lambda batch: None, expected=lambda: 1)
    server.start()
    yield server, own.public, known
    server.stop()


def test_a_key_is_proved_or_not(port_of_controller):
    server, public, known = port_of_controller
    request, publish = server.ports.request, server.ports.publish
    assert looks.shake_hands("127.0.0.1", request, public, None, 20).proved
    assert not looks.shake_hands("127.0.0.1", request, pair().public, None, 0.5).proved
    stranger = looks.shake_hands("127.0.0.1", publish, public, pair(), 20)
    assert (stranger.proved, stranger.accepted) == (True, False)
    done = threading.Event()

    def beat():
        serial = 0
        while not done.wait(0.05):
            serial += 1
            server.publish(Heartbeat(epoch="e", serial=serial, time=time.time() - 100))

    with ThreadPoolExecutor(1) as threads:
        threads.submit(beat)
        try:
            found = looks.shake_hands("127.0.0.1", publish, public, known, 20)
        finally:
            done.set()
    assert found.accepted
    assert 100 <= found.heard_at - found.controller_time < 150


def test_nobody_is_there():
    assert not looks.shake_hands("127.0.0.1", 1, pair().public, None, 0.2).proved
