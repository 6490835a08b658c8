"""Keys of a gateway change, and real salt-minions follow where Salt's can: each version of Salt that there is."""

import shutil
import subprocess

import pytest
from gateway_site import controller_with_tree
from rig import SALTERN
from stock_minions import StockMinions, salt_venvs

from gateway.protocol.rsa_keys import clean_key

VENVS = salt_venvs()
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion"),
]
MINIONS = {f"salt{version.partition('.')[0]}": venv for version, venv in VENVS.items()}
TREE = {"states/top.sls": "base:\n  '*':\n    - web\n", "states/web.sls": "told:\n  test.nop: []\n"}


@pytest.fixture(scope="module")
def rig(folder):
    with controller_with_tree(folder, TREE) as rig:
        yield rig


@pytest.fixture(scope="module")
def signed(rig, folder):
    """A gateway whose key is signed, with a minion of each version, and keys that change every few seconds."""
    with StockMinions(rig, folder / "signed", {"master_sign_pubkey": True, "publish_session": 6}) as stock:
        stock.start_gateway()
        for minion, venv in MINIONS.items():
            pki = stock.root(minion) / "pki"
            pki.mkdir(parents=True)
            shutil.copy(stock.folder / "pki/master_sign.pub", pki)
            stock.start_minion(venv, minion, {"verify_master_pubkey_sign": True, "loop_interval": 1})
        for minion in MINIONS:
            let_in(rig, stock, minion)
        yield stock


def let_in(rig, stock, minion):
    stock.wait(f"{minion} asks", lambda: minion in rig.keys("pending"), 90)
    rig.saltern("key", "accept", minion, "--yes")
    stock.wait(f"{minion} is there", lambda: answers(rig, minion), 90)


def answers(rig, minion):
    connected = rig.status().get(minion, {}).get("connected", False)
    return connected and "True" in rig.saltern("run", minion, "test.ping", check=False).stdout


def gateway(stock, *options):
    command = [*SALTERN, "gateway", *options, "-c", str(stock.folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("minion", MINIONS)
def test_jobs_go_on_while_the_keys_of_publications_and_sessions_change(rig, signed, minion):
    changes = signed.log("gateway").count("event=publication_key_changed")
    for _ in range(2):
        changes += 1
        signed.wait(
            "a key changes",
            lambda seen=changes: signed.log("gateway").count("event=publication_key_changed") >= seen,
        )
        signed.wait(f"{minion} answers", lambda: answers(rig, minion))


def test_minions_follow_a_gateway_whose_key_has_changed(rig, signed):
    before = gateway(signed, "--fingerprint").stdout
    rotated = gateway(signed, "--rotate-key")
    assert rotated.returncode == 0, rotated.stderr
    assert "restart the gateway" in rotated.stderr
    assert rotated.stdout == gateway(signed, "--fingerprint").stdout != before
    signed.stop("gateway")
    signed.start_gateway()
    new = subprocess.run(
        ["openssl", "rsa", "-in", str(signed.folder / "pki/master.pem"), "-pubout"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for minion in MINIONS:
        signed.wait(f"{minion} follows", lambda name=minion: answers(rig, name), 120)
        kept = (signed.root(minion) / "pki/minion_master.pub").read_text()
        assert clean_key(kept) == clean_key(new)


def test_without_a_signature_no_key_is_rotated_and_another_one_is_refused(rig, folder):
    venv, name = next(iter(VENVS.values())), "plain"
    with StockMinions(rig, folder / "plain") as stock:
        stock.start_gateway()
        refused = gateway(stock, "--rotate-key")
        assert (refused.returncode, "master_sign_pubkey" in refused.stderr) == (64, True)
        stock.start_minion(venv, name)
        let_in(rig, stock, name)
        stock.stop("gateway")
        (stock.folder / "pki/master.pem").unlink()
        stock.start_gateway()
        stock.wait("the gateway says why", lambda: "event=token_refused" in stock.log("gateway"), 120)
        assert not answers(rig, name)


@pytest.mark.parametrize("right", [True, False])
def test_a_new_minion_trusts_the_gateway_of_master_finger(rig, folder, right):
    venv = next(iter(VENVS.values()))
    name = "right" if right else "wrong"  # short: the minion's sockets have it twice in their paths
    with StockMinions(rig, folder / name) as stock:
        stock.start_gateway()
        finger = gateway(stock, "--fingerprint").stdout.strip()
        stock.start_minion(venv, name, {"master_finger": finger if right else finger[::-1]})
        stock.wait("it asks", lambda: name in rig.keys("pending"), 90)
        rig.saltern("key", "accept", name, "--yes")
        if right:
            stock.wait("it is there", lambda: answers(rig, name), 90)
        else:
            stock.wait(
                "it says why",
                lambda: "Does not match the authenticating master's key" in stock.log(name).replace("\n", " "),
                90,
            )
            assert not rig.status().get(name, {}).get("connected", False)
