"""Many minions at one gateway at once, a thousand with `make soak`: simulated, so that publications can be counted."""

import signal

import pytest
from effort import FULL
from gateway_site import gateway_site
from salt_crowd import SaltCrowd

pytestmark = pytest.mark.timeout(5400 if FULL else 900)
NAMES = tuple(f"m{number:03}" for number in range(1000 if FULL else 60))
PATIENCE = 1800 if FULL else 240
TREE = {"states/top.sls": "{}\n", "pillar/top.sls": "{}\n"}


@pytest.fixture(scope="module")
def site(folder):
    wait = 10.0 if FULL else 1.0
    with gateway_site(folder, TREE) as (rig, stock), SaltCrowd(folder, NAMES, stock.ret_port, wait=wait) as crowd:
        # Those beyond what may wait at once come again.
        stock.wait("all come", lambda: _accepted(rig) == set(NAMES), PATIENCE)
        stock.wait("all are there", lambda: _there(rig) == set(NAMES), PATIENCE)
        yield rig, stock, crowd


def _accepted(rig):
    """Ids of accepted keys; those of the crowd that wait are accepted."""
    if pending := [each for each in rig.keys("pending") if each in NAMES]:
        rig.saltern("key", "accept", *pending, check=False)
    return set(rig.keys("accepted")) & set(NAMES)


def _there(rig):
    return {minion for minion, found in rig.status().items() if found["connected"]}


def _answers(rig, target):
    out = rig.saltern("run", target, "test.ping", check=False).stdout
    return {each for each in NAMES if f"{each}:\n    True" in out}


def _proven(stock):
    """Minions that have answered what was said to their own addresses alone."""
    return stock.log("gateway").count("event=minion_listens") - stock.log("gateway").count('address=""')


def test_all_answer_and_each_decrypts_little_for_it(site):
    rig, stock, crowd = site
    stock.wait("all have answered at their addresses", lambda: _proven(stock) >= len(NAMES), PATIENCE)
    crowd.heard.clear()
    assert _answers(rig, "*") == set(NAMES)
    heard = [peer for peer, _, _ in crowd.heard]
    assert {peer for peer, _, _ in crowd.heard} == set(NAMES)
    assert max(heard.count(each) for each in NAMES) < len(NAMES) / 4, "as many as minions would be one for each"


def test_a_job_for_one_is_decrypted_by_that_one_alone(site):
    rig, _, crowd = site
    crowd.heard.clear()
    assert _answers(rig, "m042") == {"m042"}
    assert {peer for peer, _, minions in list(crowd.heard) if minions == ("m042",)} == {"m042"}


def test_all_come_back_when_the_gateway_does(site):
    rig, stock, _ = site
    stock.stop("gateway", signal.SIGKILL)
    stock.start_gateway()
    stock.wait("all answer", lambda: _answers(rig, "*") == set(NAMES), PATIENCE)
