"""`saltern relay` where it cannot run, and its key."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller.cli.main import saltern
from minion.relay.process import main
from wire.keys import fingerprint, read_public

KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"


@pytest.fixture(autouse=True)
def _process_as_it_was() -> Iterator[None]:
    """The process of a relay has a mask and a log of its own."""
    mask, handlers = os.umask(0o022), list(logging.getLogger().handlers)
    yield
    os.umask(mask)
    logging.getLogger().handlers[:] = handlers


def test_a_relay_without_a_controller_does_not_start(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(tmp_path) == 64
    assert "event=cannot_start" in capfd.readouterr().err


def test_a_port_that_is_taken_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        text = f"interface: 127.0.0.1\nret_port: {port}\nsyndic_master: c\npki_dir: {tmp_path}/pki\n"
        (tmp_path / "relay").write_text(text + f"controller_key: '{KEY}'\n")
        assert main(tmp_path) == 1
    assert f"cannot listen on tcp://127.0.0.1:{port}" in capfd.readouterr().err


def test_an_address_that_is_none_ends_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = f"interface: 127.0.0.1\nret_port: {_free_port()}\nsyndic_master: 'a b'\npki_dir: {tmp_path}/pki\n"
    (tmp_path / "relay").write_text(text + f"controller_key: '{KEY}'\n")
    assert main(tmp_path) == 1
    assert "event=cannot_connect" in capfd.readouterr().err


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def test_its_key_is_made_and_shown(tmp_path: Path) -> None:
    (tmp_path / "relay").write_text(f"id: relay1\npki_dir: {tmp_path}/pki\n")
    asked = [
        CliRunner().invoke(saltern, ["relay", flag, "-c", str(tmp_path)]).output.strip()
        for flag in ("--key", "--fingerprint")
    ]
    public = read_public((tmp_path / "pki/relay.key").read_text())
    assert asked == [public, fingerprint(public)]
