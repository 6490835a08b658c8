"""Keys of stock minions as `saltern key` shows them, and what becomes of them."""

import json
import subprocess

import pytest
from gateway_site import gateway_site
from rig import SALTERN
from salt_peer import SaltPeer
from stock_minions import salt_venvs
from strangers import Stranger, new_keys

from gateway.protocol.rsa_keys import salt_fingerprint
from wire.messages import KeyRequest, KeyState
from wire.salt_keys import VouchingSecret

VENVS = salt_venvs()
TREE = {
    "states/top.sls": "base:\n  '*':\n    - web\n",
    "states/web.sls": "told:\n  test.nop: []\n",
}


@pytest.fixture(scope="module")
def site(folder):
    with gateway_site(folder, TREE) as found:
        yield found


def own_key(stock):
    """The gateway's key for the controller."""
    command = [*SALTERN, "gateway", "--key", "-c", str(stock.folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def views(rig, minion):
    return [key for key in rig.ask("/keys") if key["minion"] == minion]


def test_the_fingerprint_of_salt_is_shown_once_the_gateway_is_accepted(site, folder):
    rig, stock = site
    with SaltPeer(folder, "peer1", stock.ret_port) as peer:
        assert peer.authenticate() is True
        rig.wait("the gateway asks", lambda: "gateway" in {key["role"] for key in rig.ask("/keys")})
        assert [key["salt_fingerprint"] for key in views(rig, "peer1")] == [""]
        [asked] = [key for key in rig.ask("/keys") if key["role"] == "gateway"]
        assert asked["public_key"] == own_key(stock)
        assert "of a gateway" in rig.saltern("key", "list", "-v").stdout
        rig.saltern("key", "accept", asked["minion"], "--yes")
        shown = salt_fingerprint(peer.key.pem)
        rig.wait("it is shown", lambda: [key["salt_fingerprint"] for key in views(rig, "peer1")] == [shown])
        assert f"peer1:  {shown}" in rig.saltern("key", "finger", "peer1").stdout
        rig.saltern("key", "accept", shown, "--yes")
        stock.wait("it is let in", lambda: isinstance(peer.authenticate(), dict))
    assert [(key["state"], key["salt_fingerprint"]) for key in views(rig, "peer1")] == [("accepted", shown)]


def test_a_stranger_shows_no_fingerprint_of_another(site, folder):
    """Who compares it with `key.finger` of the real minion would let the stranger in."""
    rig, stock = site
    gateway = own_key(stock)
    for minion in ("web7", "web8"):
        keys = new_keys()
        secret = VouchingSecret(keys, rig.controller_key)
        said = secret.vouch(gateway if minion == "web7" else keys.public, keys.public, minion, "ab" * 32)
        stranger = Stranger(rig, keys).connect()
        try:
            assert stranger.ask(KeyRequest(id=minion, salt_key=said), KeyState).state == "pending"
        finally:
            stranger.close()
        assert [(key["state"], key["salt_fingerprint"]) for key in views(rig, minion)] == [("pending", "")]


def listed(rig):
    return json.loads(rig.saltern("key", "list", "--out", "json").stdout)


def test_a_second_key_for_an_id_that_waits_is_denied_and_can_be_accepted_instead(site, folder):
    rig, stock = site
    (folder / "other").mkdir()
    with (
        SaltPeer(folder, "twin", stock.ret_port) as first,
        SaltPeer(folder / "other", "twin", stock.ret_port) as second,
    ):
        assert first.authenticate() is True
        assert second.authenticate() is False
        assert first.authenticate() is True, "it waits on"
        shown = {salt_fingerprint(each.key.pem) for each in (first, second)}
        stock.wait("both are shown", lambda: {key["salt_fingerprint"] for key in views(rig, "twin")} == shown)
        assert ("twin" in listed(rig)["minions_pre"], "twin" in listed(rig)["minions_denied"]) == (True, True)
        rig.saltern("key", "accept", "twin", "--yes")
        stock.wait("the first is let in", lambda: isinstance(first.authenticate(), dict))
        assert second.authenticate() is False
        rig.saltern("key", "delete", salt_fingerprint(first.key.pem), "--yes")
        rig.saltern("key", "accept", salt_fingerprint(second.key.pem), "--yes")
        stock.wait("the other is let in", lambda: isinstance(second.authenticate(), dict))
        assert second.ask("verify_minion") is True
        assert first.raw(first.frame("verify_minion")) == b"bad load"
        assert first.authenticate() is False


def test_a_rejected_key_stays_rejected_when_the_gateway_starts_anew(site, folder):
    rig, stock = site
    with SaltPeer(folder, "bad1", stock.ret_port) as peer:
        assert peer.authenticate() is True
        rig.saltern("key", "reject", "bad1", "--yes")
        stock.wait("it is told", lambda: peer.authenticate() is False)
        stock.stop("gateway")
        stock.start_gateway()
        stock.wait("it is told again", lambda: peer.authenticate() is False)
        assert [key["state"] for key in views(rig, "bad1")] == ["rejected"]
    assert not list((stock.folder / "cache/minions").glob("bad1*"))


def test_the_key_by_which_the_controller_knows_a_minion_is_rotated(site, folder):
    rig, stock = site
    with SaltPeer(folder, "peer1", stock.ret_port) as peer:
        stock.wait("it is let in", lambda: isinstance(peer.authenticate(), dict))
        peer.pillar({"os": "Debian", "saltversion": "3008.1"})
        rig.wait("it is there", lambda: rig.status().get("peer1", {}).get("connected"))
        done = json.loads(rig.saltern("key", "rotate", "peer1", "--out", "json").stdout)
        assert done["old"] != done["new"]
        rig.wait(
            "the new key is shown as Salt shows it",
            lambda: (
                salt_fingerprint(peer.key.pem)
                in {key["salt_fingerprint"] for key in views(rig, "peer1") if key["fingerprint"] == done["new"]}
            ),
        )
        stock.stop("gateway")
        stock.start_gateway()
        stock.wait("it is let in with it", lambda: isinstance(peer.authenticate(), dict))
        assert peer.ask("verify_minion") is True


def test_a_gateway_follows_the_key_of_the_controller(site, folder):
    rig, stock = site
    with SaltPeer(folder, "peer1", stock.ret_port) as peer, SaltPeer(folder, "late1", stock.ret_port) as late:
        stock.wait("it is let in", lambda: isinstance(peer.authenticate(), dict))
        peer.pillar({"os": "Debian", "saltversion": "3008.1"})
        assert late.authenticate() is True
        rig.wait("it is there", lambda: rig.status().get("peer1", {}).get("connected"))
        made = json.loads(rig.saltern("key", "rotate", "--controller", "--out", "json").stdout)
        stock.wait("it is heard", lambda: "event=next_controller_key" in stock.log("gateway"))
        rig.stop("controller")
        pki = rig.directory / "c/etc/saltern/pki/controller"
        (pki / "controller.key.next").rename(pki / "controller.key")
        rig.start_controller()
        assert rig.controller_key == made["public"]
        rig.wait("it is back", lambda: peer.ask("verify_minion") and rig.status()["peer1"]["connected"])
        rig.saltern("key", "accept", "late1", "--yes")
        stock.wait("one that waited is let in", lambda: isinstance(late.authenticate(), dict))
        stock.stop("gateway")
        stock.start_gateway()
        stock.wait("after a start, too", lambda: isinstance(peer.authenticate(), dict))


@pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion")
def test_it_is_what_the_minion_prints(site):
    rig, stock = site
    version, venv = next(iter(VENVS.items()))
    minion = f"real{version.partition('.')[0]}"
    rig.wait("the gateway asks", lambda: "gateway" in {key["role"] for key in rig.ask("/keys")})
    [asked] = [key for key in rig.ask("/keys") if key["role"] == "gateway"]
    if asked["state"] == "pending":
        rig.saltern("key", "accept", asked["minion"], "--yes")
    stock.start_minion(venv, minion)
    found = rig.wait("its key", lambda: [key for key in views(rig, minion) if key["salt_fingerprint"]])
    command = [venv / "bin/salt-call", "-c", stock.root(minion) / "etc", "--local", "--out", "json", "key.finger"]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["local"]
    assert found[0]["salt_fingerprint"] == printed
    stock.stop(minion)


@pytest.mark.parametrize(("option", "code"), [("--key", 64), ("--fingerprint", 1)])
def test_a_folder_that_takes_no_key_is_told(tmp_path, option, code):
    (tmp_path / "taken").write_text("no folder")
    (tmp_path / "gateway").write_text(json.dumps({"pki_dir": str(tmp_path / "taken/pki")}))
    command = [*SALTERN, "gateway", option, "-c", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code
    assert "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr
