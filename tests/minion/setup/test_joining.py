"""`saltern minion join`: what it writes, what it leaves alone, and what it says when it cannot."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest
import zmq

from controller.cli.main import run
from minion.agent.enrolment import enrolment_request
from minion.config.settings import load_settings
from minion.setup.joining import CannotJoin, JoinRequest, check_reachable, check_request, configuration_text, join
from wire.keys import fingerprint, load_or_create

KEY = zmq.curve_keypair()[0].decode()
OTHER = zmq.curve_keypair()[0].decode()


def request(folder: Path, **other) -> JoinRequest:
    plain = {
        "controller": "controller.example.org",
        "port": 4506,
        "controller_key": KEY,
        "token": "enrol-1",
        "minion_id": "web1",
        "config_dir": folder / "etc",
        "root_dir": folder / "root",
    }
    return JoinRequest(**{**plain, **other})


def test_what_is_written_can_be_used(tmp_path):
    joined = join(request(tmp_path, port=14506))
    settings = load_settings(tmp_path / "etc")
    assert (settings.id, settings.master, settings.master_port) == ("web1", ("controller.example.org",), 14506)
    assert settings.controller_key == {"": KEY}
    assert not settings.warnings
    assert enrolment_request(settings, {}).token == "enrol-1"
    assert joined.made
    assert joined.fingerprint == fingerprint(load_or_create(settings.pki_dir / "minion.key").public)
    for path in (tmp_path / "etc/minion", tmp_path / "etc/enrolment_token", settings.pki_dir / "minion.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert sorted(path.name for path in (tmp_path / "etc").iterdir()) == ["enrolment_token", "minion"]


def test_a_second_time_only_the_token_is_replaced(tmp_path):
    first = join(request(tmp_path))
    before = (tmp_path / "etc/minion").read_text()
    second = join(request(tmp_path, token="enrol-2", minion_id="other"))
    assert not second.made
    assert (second.id, second.fingerprint) == (first.id, first.fingerprint)
    assert (tmp_path / "etc/minion").read_text() == before
    assert enrolment_request(load_settings(tmp_path / "etc"), {}).token == "enrol-2"


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"controller": "another.example.org"}, "names controller.example.org"),
        ({"controller_key": OTHER}, "another key of controller.example.org"),
    ],
)
def test_another_controller_is_not_joined_over_the_first(tmp_path, other, text):
    join(request(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(CannotJoin, match=text) as error:
        join(request(tmp_path, **other))
    assert error.value.hint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_configuration_that_cannot_be_read_stays(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/minion").write_text("master_port: many\n")
    with pytest.raises(CannotJoin, match="master_port") as error:
        join(request(tmp_path))
    assert "move" in error.value.hint
    assert (tmp_path / "etc/minion").read_text() == "master_port: many\n"


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "etc").write_text("")
    with pytest.raises(CannotJoin, match="etc") as error:
        join(request(tmp_path))
    assert "--root-dir" in error.value.hint


@pytest.mark.parametrize(
    "wrong",
    [
        {"controller_key": "abc"},
        {"controller_key": KEY[:-1] + "'"},
        {"controller": ""},
        {"controller": "a\nid: x"},
        {"controller": "it's"},
        {"token": "enrol\nmaster: x"},
        {"token": "x" * 257},
        {"minion_id": "../x"},
    ],
)
def test_words_that_cannot_be_meant(tmp_path, wrong):
    with pytest.raises(CannotJoin):
        check_request(request(tmp_path, **wrong))


def test_only_what_is_unusual_stands_in_the_file(tmp_path):
    text = configuration_text(request(tmp_path, token="", minion_id="", root_dir=Path("/")), tmp_path / "token")
    for option in ("master_port", "enrolment_token", "root_dir", "id:"):
        assert option not in text


def test_what_listens_is_a_controller_or_not(tmp_path):
    context = zmq.Context()
    public, secret = zmq.curve_keypair()
    with context.socket(zmq.ROUTER) as curve, context.socket(zmq.ROUTER) as plain:
        curve.curve_server, curve.curve_publickey, curve.curve_secretkey = True, public, secret
        ports = [each.bind_to_random_port("tcp://127.0.0.1") for each in (curve, plain)]
        check_reachable(request(tmp_path, controller="127.0.0.1", port=ports[0]))
        with pytest.raises(CannotJoin, match="Salt master") as error:
            check_reachable(request(tmp_path, controller="127.0.0.1", port=ports[1]))
        assert error.value.unreachable
    context.term()
    with pytest.raises(CannotJoin, match="nothing listens") as error:
        check_reachable(request(tmp_path, controller="127.0.0.1", port=unused_port()))
    assert "--port" in error.value.hint


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_nothing_is_written_where_the_controller_is_not_reached(tmp_path, capfd):
    port = unused_port()
    folder = ["minion", "-c", str(tmp_path / "etc")]
    words = ["join", "127.0.0.1", "--port", str(port), "--key", KEY, "--root-dir", str(tmp_path / "root")]
    assert run([*folder, *words]) == 3
    assert not (tmp_path / "etc").exists()
    assert run([*folder, *words, "--offline"]) == 0
    assert f"saltern minion -c {tmp_path}/etc" in capfd.readouterr().err
    assert load_settings(tmp_path / "etc").master_port == port
