"""The order of gateways and the list of controllers in the configuration."""

import socket

import pytest
import yaml

from gateway.settings import GatewaySettings, controllers_of, gateways_before, load_gateway_settings
from minion.config.files import BadMinionSettings


@pytest.mark.parametrize(
    ("gateways", "before"),
    [
        ((), []),
        (("this", "g2"), []),
        (("g1", "192.0.2.1:4600", "this", "g3"), [("g1", 4506), ("192.0.2.1", 4600)]),
        (("2001:db8::1", "[2001:db8::2]:4600", "this"), [("2001:db8::1", 4506), ("2001:db8::2", 4600)]),
    ],
)
def test_gateways_that_come_before(gateways, before):
    assert gateways_before(GatewaySettings(gateways=gateways)) == before


@pytest.mark.parametrize("gateways", [("g1", "g2"), ("this", "this"), ("g1:0", "this"), ("g1:x", "this")])
def test_orders_that_are_none(gateways):
    with pytest.raises(BadMinionSettings):
        gateways_before(GatewaySettings(gateways=gateways))


KEYS = ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "sULFwT$WoIpG$^z*Tf!@JUZLEj]-v.xx%nU{1@QR")


def written(folder, **options):
    (folder / "gateway").write_text(yaml.safe_dump(options))
    return load_gateway_settings(folder)


def test_a_list_of_controllers_has_their_order_and_one_key(tmp_path):
    hosts = ["c1.example.org", "192.0.2.7:5506", "[2001:db8::1]:5507", "2001:db8::2"]
    settings = written(tmp_path, controller=hosts, controller_key=KEYS[0], controller_port=4600)
    found = controllers_of(settings, tmp_path)
    assert list(found) == hosts
    assert [(each.host, each.request_port) for each in found.values()] == [
        ("c1.example.org", 4600),
        ("192.0.2.7", 5506),
        ("2001:db8::1", 5507),
        ("2001:db8::2", 4600),
    ]
    assert {(each.controller_key, each.relay_key) for each in found.values()} == {(KEYS[0], "")}
    assert settings.id == f"gateway-{socket.gethostname()}"


def test_one_controller_and_relays_before_it(tmp_path):
    settings = written(tmp_path, controller="c1", controller_key=KEYS[0], id="g1")
    assert (list(controllers_of(settings, tmp_path)), settings.id) == (["c1"], "g1")
    relays = {"r1": KEYS[1], "r2": KEYS[0]}
    settings = written(tmp_path, controller=["r1", "r2"], controller_key=KEYS[0], relay_key=relays)
    assert {name: each.relay_key for name, each in controllers_of(settings, tmp_path).items()} == relays


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"controller": "c1"}, "`controller_key` (what `saltern key controller` prints there) are needed"),
        ({"controller": "c1", "controller_key": "x"}, "controller_key: "),
        ({"controller": "c1:x", "controller_key": KEYS[0]}, "controller: c1:x is no host"),
        ({"controller": "c1", "controller_key": KEYS[0], "relay_key": "x"}, "relay_key: "),
        ({"controller": "c1", "controller_key": {"c2": KEYS[0]}}, "controller_key: c2 is not in `controller`"),
        ({"controller": ["c1", "c2"], "controller_key": {"c1": KEYS[0]}}, "controller_key: c2 has none"),
        ({"controller": ["c1", "c2"], "controller_key": dict(zip(("c1", "c2"), KEYS, strict=True))}, "have one key"),
    ],
)
def test_controllers_that_are_none(tmp_path, options, why):
    settings = written(tmp_path, **options)
    with pytest.raises(BadMinionSettings) as failed:
        controllers_of(settings, tmp_path)
    assert why in str(failed.value)
    assert str(tmp_path / "gateway") in str(failed.value)


@pytest.mark.parametrize("options", [{"id": "a/b"}, {"controller": ["c1", "c1"]}, {"relay_key": 5}])
def test_options_that_cannot_be_read(tmp_path, options):
    with pytest.raises(BadMinionSettings):
        written(tmp_path, **options)


def test_an_option_that_is_unknown_is_told_with_the_nearest(tmp_path):
    [warning] = written(tmp_path, controler="c1").warnings
    assert "unknown option controler" in warning
    assert "controller" in warning
