"""Accepted stock minions are served on while a gateway is flooded (`make attack ONLY=gateway`).

What was too much is counted by the limit that refused it. The suite has some of the attacks, `make soak` all.
"""

import psutil
import pytest
from attackers import attacked
from effort import steps
from gateway_site import gateway_site
from prometheus_client.parser import text_string_to_metric_families
from salt_peer import SaltPeer

from tools.attack.gateway import ATTACKS, HONEST, HOSTILE_STOCK
from tools.attack.scene import Scene
from wire.keys import new_pair

MIB = 1024 * 1024
BUSY = {"minion-share", "minion-requests", "connection-requests", "queued-bytes"}
LIMITS = {
    "garbage": {"connection-refusals", "network-refusals"},
    "shown-keys": {"address-requests-a-second"},
    "known-key": {"minion-authentications"},
    "forged-requests": {"connection-refusals", "network-refusals", "total-bytes"},
    "unfinished-frames": {"connection-bytes", "total-bytes"},
    "silent-connections": {"connections"},
    "subscribers": {"subscribers"},
    "subscriptions": {"subscription-bytes"},
    "many-requests": BUSY,
    "large-returns": BUSY,
    "many-events": BUSY,
}
"""Attack -> limits of which one refuses it."""
GROWTH = 200
TREE = {
    "states/top.sls": "base:\n  '*':\n    - web\n",
    "states/web.sls": "told:\n  test.nop: []\n",
    "states/file.txt": "content\n",
}


@pytest.fixture(scope="module")
def stock(folder):
    with gateway_site(folder, TREE, {"metrics_textfile": str(folder / "gateway.prom")}) as (rig, stock):
        for minion in (HONEST, HOSTILE_STOCK):
            with SaltPeer(folder, minion, stock.ret_port) as peer:
                assert peer.authenticate() is True
                (folder / f"{minion}.pub").write_text(peer.key.pem)
                rig.saltern("key", "accept", minion, "--yes")
                stock.wait("it is let in", lambda peer=peer: isinstance(peer.authenticate(), dict))
        yield stock


@pytest.fixture(scope="module")
def scene(stock, folder):
    return Scene(
        publish_port=0,
        request_port=0,
        http_port=0,
        socket=folder,
        controller_key="",
        key=new_pair(),
        remote=folder,
        folder=folder,
        config=folder,
        far_port=0,
        gateway_port=stock.ret_port,
        gateway_publish_port=stock.publish_port,
    )


@pytest.fixture(scope="module")
def honest(stock, folder):
    with SaltPeer(folder, HONEST, stock.ret_port, keeps=True) as peer:
        stock.wait("it is let in", lambda: isinstance(peer.authenticate(), dict))
        peer.pillar({"os": "Debian", "saltversion": "3008.1"})
        yield peer


def refusals(folder):
    families = text_string_to_metric_families((folder / "gateway.prom").read_text())
    return {
        sample.labels["limit"]
        for family in families
        for sample in family.samples
        if sample.name == "saltern_gateway_limit_refusals_total"
    }


def served(honest):
    """One round of what a minion asks; that it is not answered fails in the peer."""
    return honest.ask("verify_minion") is True and honest.ask("_file_hash", path="file.txt", saltenv="base")["hsum"]


def test_every_attack_has_its_limits():
    assert LIMITS.keys() == ATTACKS.keys()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("attack", steps(list(ATTACKS), 4))
def test_an_accepted_minion_is_served_on(stock, scene, honest, folder, attack):
    process = psutil.Process(stock.pid("gateway"))
    before = process.memory_info().rss
    assert served(honest)
    with attacked(f"gateway.{attack}", scene):
        for _ in range(20):
            assert served(honest)
        stock.wait("a limit has refused something", lambda: refusals(folder) & LIMITS[attack], 480)
        assert served(honest)
    assert process.is_running()
    assert process.memory_info().rss < before + GROWTH * MIB
    stock.wait("it is let in anew", lambda: isinstance(honest.authenticate(), dict))
