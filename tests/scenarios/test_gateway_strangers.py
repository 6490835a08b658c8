"""Who is let in at a gateway, and what hostile minions come to: with a peer that sends what no salt-minion would."""

import json
import signal
import time

import pytest
from gateway_site import gateway_site
from salt_peer import SaltPeer

from gateway.protocol.crypticle import Crypticle, new_key
from gateway.protocol.packing import pack

GRAINS = {"os": "Debian", "kernel": "Linux", "saltversion": "3008.1"}
BAD = b"bad load"
TREE = {
    "states/top.sls": "base:\n  '*':\n    - web\n",
    "states/web.sls": "told:\n  test.succeed_with_changes:\n    - name: of {{ grains.id }}\n",
    "states/a/file.txt": "x" * 3_000_000,
    "pillar/top.sls": "base:\n  'peer*':\n    - of\n",
    "pillar/of.sls": "mine: {{ grains.id }}\n",
}


@pytest.fixture(scope="module")
def site(folder):
    with gateway_site(folder, TREE) as found:
        yield found


def accepted(site, folder, minion):
    """A peer that is let in, and has told its grains."""
    rig, stock = site
    peer = SaltPeer(folder, minion, stock.ret_port)
    if minion not in rig.keys("accepted"):
        assert peer.authenticate() is True
        rig.saltern("key", "accept", minion)
    stock.wait("it is let in", lambda: isinstance(peer.authenticate(), dict))
    return peer


@pytest.fixture(scope="module")
def one(site, folder):
    with accepted(site, folder, "peer1") as peer:
        yield peer


@pytest.fixture(scope="module")
def two(site, folder):
    with accepted(site, folder, "peer2") as peer:
        yield peer


def test_each_gets_its_own_pillar(one, two):
    assert one.pillar(GRAINS) == {"mine": "peer1"}
    assert two.pillar(GRAINS) == {"mine": "peer2"}


def test_grains_with_the_id_of_another_get_nobody_elses_pillar(one):
    assert one.pillar({**GRAINS, "id": "peer2"}) == {"mine": "peer1"}


def test_a_request_in_the_name_of_another_is_refused(one, two):
    assert one.raw(one.frame("_pillar", who="peer2", grains=GRAINS)) == BAD
    assert one.raw(one.frame("_pillar", id="peer2", grains=GRAINS)) == BAD


def test_a_request_that_is_said_again_later_is_refused(one):
    assert one.raw(one.frame("_file_envs", ts=int(time.time()) - 3600)) == BAD


def test_a_request_that_another_key_signed_is_refused(one, two):
    assert one.raw(one.frame("_file_envs", tok=two.key.sign_x931(b"salt"))) == BAD


def test_the_key_of_publications_opens_no_requests(one):
    """Every minion has it: whoever uses it says nothing in another's name."""
    session, one.session = one.session, one.shared
    try:
        assert one.raw(one.frame("_file_envs")) == BAD
    finally:
        one.session = session


def test_protocol_two_is_refused(site, folder):
    with SaltPeer(folder, "old1", site[1].ret_port) as peer:
        load = {"cmd": "_auth", "id": "old1", "nonce": "0" * 32, "pub": peer.key.pem}
        for version in (0, 1, 2):
            assert peer.raw(pack({"enc": "clear", "version": version, "load": load})) == BAD
        assert "old1" not in site[0].keys("pending")


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\x91" * 100_000, pack({"enc": "aes"})])
def test_garbage_is_answered_and_forgotten(one, frame):
    assert one.raw(frame) == BAD
    assert one.ask("verify_minion") is True


def test_what_is_encrypted_by_chance_is_refused(one):
    frame = pack({"enc": "aes", "version": 3, "id": "peer1", "load": Crypticle(new_key()).seal({"cmd": "_pillar"})})
    assert one.raw(frame) == BAD


def test_another_key_for_an_id_is_denied(site, folder, one):
    (folder / "other").mkdir(exist_ok=True)
    with SaltPeer(folder / "other", "peer1", site[1].ret_port) as other:
        assert other.authenticate() is False
    assert one.ask("verify_minion") is True


def test_a_syndic_and_other_commands_of_masters_are_refused(one):
    for cmd in ("_syndic_return", "_file_recv", "revoke_auth", "wheel", "runner", "publish", "__init__", "no_such"):
        assert one.ask(cmd, load=[{"id": "peer2", "jid": "1", "return": {"peer2": {}}}]) is False


@pytest.fixture(scope="module")
def both(site, one, two):
    """Two minions that are there, and the controller."""
    rig, _ = site
    one.pillar(GRAINS)
    two.pillar(GRAINS)
    one.subscribe()
    two.subscribe()
    for peer in (one, two):
        peer.give(peer.job("test.ping"), True)
    rig.wait("both are there", lambda: all(rig.status().get(each, {}).get("connected") for each in ("peer1", "peer2")))
    return rig, one, two


def test_a_return_for_a_job_of_another_is_not_taken(both):
    rig, one, two = both
    jid = rig.saltern("run", "peer1", "cmd.run", "id", "--async").stdout.split()[-1]
    job = one.job("cmd.run")
    two.give(job, "forged")
    two.give(job, "forged", resource_id="peer1")
    one.give(job, "honest")
    said = rig.wait(
        "the return", lambda: (out := rig.saltern("history", jid, check=False).stdout) and "honest" in out and out
    )
    assert "forged" not in said


def test_what_states_tell_is_of_the_minions_own_runs(both):
    rig, one, two = both
    jid = rig.saltern("run", "peer1", "cmd.run", "id", "--async").stdout.split()[-1]
    job = one.job("cmd.run")
    assert job["jid"] == jid
    for peer, minion in ((two, "peer1"), (two, "peer2"), (one, "peer1")):
        peer.ask("_minion_event", tag=f"salt/state_result/{jid}/{minion}/told", data={"by": peer.id})
    one.give(job, "honest")

    def told():
        lines = rig.saltern("events", "--no-follow", "--out", "json").stdout.splitlines()
        found = [event for event in map(json.loads, lines) if event["tag"].endswith("/told")]
        return len(found) >= 2 and {event["tag"]: event["data"]["data"]["by"] for event in found}

    assert rig.wait("both", told) == {
        f"salt/state_result/{jid}/peer1/told": "peer1",
        f"salt/state_result/called-peer2-{jid}/peer2/told": "peer2",
    }


def test_a_state_file_is_for_the_minion_that_it_was_made_for(one, two):
    """The others know the name of it, which stands in the job; one of theirs may have the same."""
    job = one.job("state.sls")
    path = f"{job['arg'][0].replace('.', '/')}.sls"
    assert "of peer1" in one.ask("_serve_file", path=path, saltenv="base", loc=0)["data"]
    assert "of peer1" not in two.ask("_serve_file", path=path, saltenv="base", loc=0)["data"]
    assert path not in two.ask("_file_list", saltenv="base")
    tag = "test_|-told_|-of peer1_|-succeed_with_changes"
    state = {"result": True, "changes": {"a": 1}, "comment": "", "name": "of peer1", "__id__": "told", "__sls__": "web"}
    one.give(job, {tag: state})


def test_a_large_file_comes_in_pieces(one):
    found, data = b"", "x"
    while data:
        data = one.ask("_serve_file", path="a/file.txt", saltenv="base", loc=len(found))["data"]
        found += data.encode()
    assert found == b"x" * 3_000_000
    assert one.ask("_file_hash", path="a/file.txt", saltenv="base")["hash_type"] == "sha256"


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a/../../x", "", "x" * 10_000, 7, None])
def test_paths_that_lead_elsewhere_find_nothing(one, path):
    assert one.ask("_serve_file", path=path, saltenv="base", loc=0) == {"data": "", "dest": ""}
    assert not one.ask("_file_hash", path=path, saltenv="base")


def test_a_deleted_key_ends_the_session_and_changes_the_key_of_publications(site, folder):
    rig, stock = site
    with accepted(site, folder, "peer3") as peer, accepted(site, folder, "peer4") as other:
        assert peer.ask("verify_minion") is True
        before = other.shared.key
        rig.saltern("key", "delete", "peer3", "--yes")
        stock.wait("it is shut out", lambda: peer.raw(peer.frame("verify_minion")) == BAD)
        stock.wait("another key", lambda: other.authenticate() and other.shared.key != before)


def test_the_gateway_comes_back_with_whom_it_knew(site, one):
    _, stock = site
    stock.stop("gateway", signal.SIGKILL)
    stock.start_gateway()
    assert one.raw(one.frame("verify_minion")) == BAD  # its session was the other process's
    stock.wait("it is let in again", lambda: isinstance(one.authenticate(), dict))
    assert one.ask("verify_minion") is True
