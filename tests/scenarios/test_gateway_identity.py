"""Who a gateway is for its controller: its id, two gateways on one machine, and a controller that is not the one."""

from __future__ import annotations

import re
import shutil
import time

import pytest
import yaml
import zmq
from rig import Rig
from stock_minions import StockMinions

STATES = {"states/top.sls": "base:\n  '*': []\n"}


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    folder = tmp_path_factory.mktemp("r")
    for path, text in STATES.items():
        (folder / "tree" / path).parent.mkdir(parents=True)
        (folder / "tree" / path).write_text(text)
    with Rig(folder / "rig", {}, folder / "tree", forked=True) as made:
        made.up()
        yield made


@pytest.fixture
def gateway_of(rig, tmp_path):
    """Makes gateways of this machine, each with a folder of its own."""
    made = []

    def make(name, **more):
        made.append(StockMinions(rig, tmp_path / name, more, log_level="info"))
        return made[-1]

    yield make
    for each in made:
        each.__exit__(None, None, None)


def said(gateway, event):
    return [line for line in gateway.log("gateway").splitlines() if f"event={event} " in line]


def keys_of_gateways(rig):
    listed = rig.saltern("key", "list", "-v").stdout.splitlines()
    return {line.split()[0]: line.split()[1] for line in listed if "of a gateway" in line}


def test_another_key_than_the_controllers_is_told_at_once(gateway_of):
    gateway = gateway_of("wrong", controller_key=zmq.curve_keypair()[0].decode())
    gateway.start_gateway()
    began = time.monotonic()
    gateway.wait("it to say so", lambda: said(gateway, "controller_unreachable"), 3)
    [line] = said(gateway, "controller_unreachable")
    file = gateway.folder / "gateway"
    assert f"has another key than `controller_key` in {file}" in line
    assert "compare with `saltern key controller --fingerprint` on the controller" in line
    assert time.monotonic() - began < 3
    gateway.stop("gateway")
    assert len(said(gateway, "controller_unreachable")) == 1, "a cause is told once"


def test_two_gateways_of_one_machine_with_ids_of_their_own(rig, gateway_of):
    gateways = {name: gateway_of(name, id=name) for name in ("gateway-a", "gateway-b")}
    for gateway in gateways.values():
        gateway.start_gateway()
    rig.wait("both keys", lambda: set(gateways) <= set(keys_of_gateways(rig)))
    for name in gateways:
        rig.saltern("key", "accept", name)
    assert {keys_of_gateways(rig)[name] for name in gateways} == {"accepted"}
    for name, gateway in gateways.items():
        gateway.wait("it to hear of it", lambda at=gateway: said(at, "key_accepted"))
        assert f"gateway={name}" in said(gateway, "started")[0]


def test_two_gateways_with_one_id_are_told_what_to_write(rig, gateway_of):
    first, second = gateway_of("1", id="twin"), gateway_of("2", id="twin")
    first.start_gateway()
    rig.wait("the first key", lambda: "twin" in keys_of_gateways(rig))
    rig.saltern("key", "accept", "twin")
    second.start_gateway()
    second.wait("it to be told", lambda: said(second, "gateway_key_waits"))
    [told] = said(second, "gateway_key_waits")
    assert f"another gateway's: write another `id` into {second.folder / 'gateway'}" in told
    assert "another key has this id" in rig.saltern("key", "list", "-v").stdout
    second.stop("gateway")
    file = second.folder / "gateway"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"id": "twin2"}))
    rig.saltern("key", "delete", re.search(r"`saltern key delete ([0-9a-f:]+)`", told)[1], "--yes")
    second.start_gateway()
    rig.wait("its key by the other id", lambda: "twin2" in keys_of_gateways(rig))
    assert keys_of_gateways(rig)["twin"] == "accepted"


@pytest.mark.parametrize("option", ["pki_dir", "cachedir"])
def test_a_folder_that_another_gateway_uses_is_refused(gateway_of, option):
    first = gateway_of("1", id="first")
    first.start_gateway()
    used = first.folder / ("pki" if option == "pki_dir" else "cache")
    second = gateway_of("2", id="second", **{option: str(used)})
    with pytest.raises(AssertionError):
        second.start_gateway(3)
    [line] = said(second, "cannot_start")
    assert f"{used}: another gateway (process {first.pid('gateway')}) uses this {option}" in line
    assert str(second.folder / "gateway") in line
    first.stop("gateway")
    second.stop("gateway")
    second.start_gateway()


def test_a_copy_of_the_key_on_another_machine_is_told(rig, gateway_of):
    """The controller knows the newest connection of a key, so two of them take it from each other for ever."""
    first, second = gateway_of("1", id="copied"), gateway_of("2", id="copied")
    first.start_gateway()
    rig.wait("its key", lambda: "copied" in keys_of_gateways(rig))
    (second.folder / "pki").mkdir(mode=0o700)
    shutil.copy(first.folder / "pki/gateway.key", second.folder / "pki/gateway.key")
    second.start_gateway()
    first.wait(
        "one of them to say so", lambda: said(first, "own_connection_taken") or said(second, "own_connection_taken")
    )


def test_a_key_that_the_controller_has_under_another_id_is_told(rig, gateway_of):
    gateway = gateway_of("1", id="mine")
    gateway.start_gateway()
    rig.wait("its key", lambda: "mine" in keys_of_gateways(rig))
    rig.saltern("key", "accept", "mine")
    gateway.stop("gateway")
    file = gateway.folder / "gateway"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"id": "other"}))
    gateway.start_gateway()
    gateway.wait("it to be told", lambda: said(gateway, "gateway_id_refused"))
    assert f"write as `id` into {file}" in said(gateway, "gateway_id_refused")[0]
