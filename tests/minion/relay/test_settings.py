"""The file of a relay, and what it says of options of Salt's syndic."""

from __future__ import annotations

from pathlib import Path

import pytest

from minion.config.files import BadMinionSettings
from minion.relay.settings import MEANINGLESS, controller_of, load_relay_settings

KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"


def write(folder: Path, text: str) -> Path:
    (folder / "relay").write_text(text)
    return folder


def test_the_example_is_a_relay(tmp_path: Path) -> None:
    example = Path(__file__).parents[3] / "examples/relay/relay.conf"
    settings = load_relay_settings(write(tmp_path, example.read_text()))
    assert (settings.id, settings.ret_port, settings.warnings) == ("relay1", 4506, ())
    address = controller_of(settings, tmp_path)
    assert (address.host, address.request_port, address.relay_key) == ("controller.example.org", 4506, "")


@pytest.mark.parametrize(
    ("master", "host", "port"),
    [("c1", "c1", 4507), ("c1:14506", "c1", 14506), ("2001:db8::5", "2001:db8::5", 4507), ("'[::1]:9'", "::1", 9)],
)
def test_forms_of_an_address(tmp_path: Path, master: str, host: str, port: int) -> None:
    text = f"syndic_master: {master}\nsyndic_master_port: 4507\ncontroller_key: '{KEY}'\nid: r\n"
    address = controller_of(load_relay_settings(write(tmp_path, text)), tmp_path)
    assert (address.host, address.request_port) == (host, port)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id: r\n", "`syndic_master` (the controller's host) and `controller_key`"),
        (f"syndic_master: c\ncontroller_key: '{KEY[:-1]}'\n", "is no public key"),
        (f"syndic_master: 'c:99999'\ncontroller_key: '{KEY}'\n", "is no host, and no host with a port"),
        ("ret_port: many\n", "relay:1"),
        ("id: 'a/b'\n", "a minion id"),
        ("syndic_master: [c1, c2]\n", "syndic_master must be"),
        ("id: [\n", "relay"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadMinionSettings, match="relay") as error:
        controller_of(load_relay_settings(write(tmp_path, text)), tmp_path)
    assert said in str(error.value)


def test_options_of_a_syndic_say_what_takes_their_place(tmp_path: Path) -> None:
    text = "id: r\nsyndic_log_file: /tmp/relay.log\nsyndic_mastr: c\n" + "".join(f"{name}: x\n" for name in MEANINGLESS)
    settings = load_relay_settings(write(tmp_path, text))
    assert settings.log_file == Path("/tmp/relay.log")
    assert len(settings.warnings) == 1 + len(MEANINGLESS)
    assert "syndic_master" in settings.warnings[0]
    for name, why in MEANINGLESS.items():
        assert any(f"{name} changes nothing: {why}" in warning for warning in settings.warnings)
