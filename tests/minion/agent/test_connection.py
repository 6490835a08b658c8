"""The agent's connection, opened to a real server: what settings it needs, whose key it has, who else is there."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time

import pytest

from minion.agent.connection import open_connection
from minion.config.files import BadMinionSettings
from minion.config.settings import load_settings
from wire.client import Connected
from wire.keys import fingerprint, load_or_create

HOLDER = """
import sys, pathlib
from minion.machine.file_locks import take_lock
assert take_lock(pathlib.Path(sys.argv[1]), wait=False) is not None
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def settings_of(tmp_path, controller):
    def make(**changed):
        publish, request = controller.ports
        given = {
            "id": "web1",
            "master": "127.0.0.1",
            "publish_port": publish,
            "master_port": request,
            "controller_key": json.dumps(controller.keys.public),  # it may begin with any printable character
            "root_dir": str(tmp_path / "root"),
            **changed,
        }
        text = "".join(f"{key}: {value}\n" for key, value in given.items() if value is not None)
        (tmp_path / "minion").write_text(text)
        return load_settings(tmp_path)

    return make


def test_it_connects_with_a_key_of_its_own(settings_of):
    settings = settings_of()
    connection, own = open_connection(settings)
    try:
        assert own == fingerprint(load_or_create(settings.pki_dir / "minion.key").public)
        events, deadline = [], time.monotonic() + 60
        while not any(isinstance(one, Connected) for one in events) and time.monotonic() < deadline:
            found, _ = connection.receive(0.2)
            events += found
        assert connection.connected
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"master": None}, "`master`"),
        ({"controller_key": None}, "`controller_key`"),
        ({"controller_key": "no key"}, "controller_key: "),
    ],
)
def test_what_is_missing_is_named(settings_of, changed, why):
    settings = settings_of(**changed)
    with pytest.raises(BadMinionSettings, match=why):
        open_connection(settings)
    assert not settings.cachedir.exists()


def test_a_cache_directory_has_one_agent(settings_of):
    settings = settings_of()
    settings.cachedir.mkdir(parents=True)
    command = [sys.executable, "-c", HOLDER, str(settings.cachedir / "agent.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BadMinionSettings, match=rf"another agent \(process {other.pid}\)"):
            open_connection(settings)
        other.stdin.close()
    open_connection(settings)[0].close()


def test_more_masters_than_one_are_named_as_ignored(settings_of, caplog):
    caplog.set_level(logging.WARNING)
    open_connection(settings_of(master=["127.0.0.1", "other.example.org"]))[0].close()
    assert "event=masters_ignored used=127.0.0.1 ignored=other.example.org" in caplog.text
