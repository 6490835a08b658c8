"""What broke masters of Salt, tried on a gateway: the table of docs/security.md names a test for each.

Others are in `test_gateway_strangers` and `test_gateway_floods`.
"""

import json
from pathlib import Path

import msgpack
import pytest
from gateway_site import gateway_site
from salt_peer import SaltPeer

from gateway.protocol.packing import pack
from gateway.protocol.rsa_keys import MinionKey, load_or_create_key

GRAINS = {"os": "Debian", "kernel": "Linux", "saltversion": "3008.1"}
BAD = b"bad load"
MARK = "saltern-was-here"
NAMES = (
    f"../../../../tmp/{MARK}",
    f"/tmp/{MARK}",
    f"..\\..\\{MARK}",
    f"%2e%2e/{MARK}",
    f"a\0/{MARK}",
    f"|/tmp/{MARK}",
    f"salt://../{MARK}",
    f"a\n{MARK}",
    "..",
    "",
    "x" * 5000,
    f"ext::sh -c 'touch /tmp/{MARK}'",
    f"--upload-pack=touch /tmp/{MARK}",
)
COMMANDS = (
    *("_pillar", "_file_find", "_file_hash", "_file_hash_and_stat", "_serve_file", "_file_list", "_dir_list"),
    *("_symlink_list", "_file_list_emptydirs", "_file_envs", "_mine", "_mine_get", "_mine_delete", "_mine_flush"),
    *("_minion_event", "_return", "_syndic_return", "_file_recv", "_master_opts", "_master_tops", "_ext_nodes"),
    *("_register_resources", "minion_publish", "minion_pub", "minion_runner", "pub_ret", "revoke_auth"),
    *("verify_minion", "get_token", "mk_token", "wheel", "runner", "publish", "ping"),
)
"""What a minion may call on a master, and what only others may."""
INTERNAL = (
    *("__init__", "__class__", "_prep_auth_info", "_send_pub", "run_func", "get_method", "expose_methods", "opts"),
    *("_prep_pub", "_prep_jid", "ckminions", "masterapi", "fs_", "event", "destroy", "_handle_minion_event", "_auth"),
)
"""Attributes and methods of the classes that stand behind a master's ports."""
TREE = {
    "states/top.sls": "base:\n  '*':\n    - web\n",
    "states/web.sls": "told:\n  test.nop: []\n",
    "pillar/top.sls": "base:\n  '*':\n    - of\n",
    "pillar/of.sls": "mine: {{ grains.id }}\n",
}


@pytest.fixture(scope="module")
def site(folder):
    with gateway_site(folder, TREE) as found:
        yield found


@pytest.fixture(scope="module")
def peers(site, folder):
    """The attacker and a minion that is none."""
    rig, stock = site
    opened = []
    for minion in ("mallory", "victim"):
        peer = SaltPeer(folder, minion, stock.ret_port)
        opened.append(peer)
        assert peer.authenticate() is True
        rig.saltern("key", "accept", minion, "--yes")
        stock.wait("it is let in", lambda peer=peer: isinstance(peer.authenticate(), dict))
        peer.pillar(GRAINS)
    rig.wait("both are there", lambda: all(rig.status().get(each.id, {}).get("connected") for each in opened))
    yield opened
    for peer in opened:
        peer.__exit__(None, None, None)


@pytest.fixture
def mallory(peers):
    return peers[0]


@pytest.fixture
def victim(peers):
    return peers[1]


def files(stock):
    return {str(path) for name in ("pki", "cache") for path in (stock.folder / name).rglob("*")}


def is_untouched(stock, before):
    """Nothing was written by a name that somebody chose."""
    made = [path for path in files(stock) - before if MARK in path or ".." in path or "\\" in path]
    return not made and not [path for path in Path("/tmp").iterdir() if MARK in path.name]


@pytest.mark.parametrize("cmd", [*COMMANDS, *INTERNAL, "ping", "wheel", "runner", "publish", "_auth "])
def test_without_a_session_no_method_of_a_master_is_reached(peers, mallory, cmd):
    load = {"cmd": cmd, "id": "victim", "fun": "cmd.run", "tgt": "*", "arg": ["id"], "key": "", "nonce": "0" * 32}
    assert mallory.raw(pack({"enc": "clear", "version": 3, "load": load})) == BAD
    assert mallory.raw(pack({"enc": "aes", "version": 3, "id": "mallory", "load": load})) == BAD


@pytest.mark.parametrize("cmd", INTERNAL)
def test_a_minion_reaches_no_attribute_of_what_serves_it(mallory, cmd):
    assert mallory.ask(cmd) is False


def test_a_session_token_of_nobody_is_given_to_nobody(mallory):
    """CVE-2020-11651 gave the root key of the master away, by `_prep_auth_info`."""
    for cmd in ("_prep_auth_info", "get_token", "mk_token"):
        assert mallory.ask(cmd, token="x", eauth="pam", username="root") is False


@pytest.mark.parametrize("name", NAMES)
def test_no_name_becomes_a_path(site, mallory, name):
    """In each field of each command from which a master has made one."""
    _, stock = site
    before = files(stock)
    fields = {
        "path": name,
        "saltenv": name,
        "prefix": name,
        "pillarenv": name,
        "jid": name,
        "fun": name,
        "tag": name,
        "loc": 0,
        "data": {name: name},
        "return": {name: name},
        "ext": {"git": name},
        "tgt": name,
        "arg": [name],
        "tgt_type": name,
        "grains": GRAINS,
    }
    for cmd in COMMANDS:
        if cmd == "_pillar":
            assert mallory.pillar({**GRAINS, "saltenv": name}) == {"mine": "mallory"}
        elif cmd not in ("minion_publish", "minion_pub", "minion_runner", "_mine_get"):
            mallory.ask(cmd, **fields)
    assert mallory.ask("_file_recv", **{**fields, "path": ["..", "..", MARK], "data": b"x"}) is False
    assert is_untouched(stock, before)
    assert mallory.ask("verify_minion") is True


@pytest.mark.parametrize(
    "minion", ["../minions/victim", "a/b", ".", "..", "a\n", "a\0b", "victim.", " victim", "v\u0456ctim", ""]
)
def test_an_id_that_is_a_path_or_a_twin_is_no_id(site, folder, minion):
    """CVE-2017-12791 and CVE-2017-14695: the key of another was accepted by such an id."""
    rig, stock = site
    before = files(stock)
    with SaltPeer(folder, "stranger", stock.ret_port) as peer:
        load = {"cmd": "_auth", "id": minion, "nonce": "0" * 32, "pub": peer.key.pem}
        assert peer.raw(pack({"enc": "clear", "version": 3, "load": load})) == BAD
    assert minion not in {key["minion"] for key in rig.ask("/keys")}
    assert files(stock) == before


@pytest.mark.parametrize("value", [None, 7, -1, True, 1.5, [], {}, [[]] * 100, {"a": {"b": 1}}, b"\xff\xfe", "x"])
def test_a_field_of_another_type_ends_nothing(mallory, value):
    """CVE-2017-14696 and CVE-2023-20897: such requests stopped a worker each."""
    # What is too long for a name is not answered by the controller, so that the minion itself waits for half a minute.
    waits = ("minion_publish", "minion_pub", "minion_runner") if len(str(value)) > 200 else ()
    for cmd in [each for each in COMMANDS if each not in waits]:
        names = ("path", "saltenv", "prefix", "jid", "return", "tag", "data", "events", "grains", "loc", "tgt", "fun")
        mallory.ask(cmd, **dict.fromkeys((*names, "arg", "tgt_type", "tmo", "pretag", "load", "clear"), value))
        load = {"cmd": "_auth", "id": value, "nonce": value, "pub": value, "token": value, "enc_algo": value}
        mallory.raw(pack({"enc": "clear", "version": 3, "load": load}))
    assert mallory.ask("verify_minion") is True


@pytest.mark.parametrize("code", [0, 5, 78, 79, 127])
def test_an_extension_type_of_msgpack_makes_no_object(mallory, code):
    frame = msgpack.packb({"enc": "aes", "version": 3, "id": "mallory", "load": msgpack.ExtType(code, b"\xc1" * 40)})
    assert mallory.raw(frame) == BAD
    assert mallory.ask("verify_minion") is True


def test_the_public_key_of_another_opens_nothing(site, folder, victim):
    """CVE-2024-38825: whoever shows it gets what its owner alone can read."""
    _, stock = site
    with SaltPeer(folder, "thief", stock.ret_port) as thief:
        load = {"cmd": "_auth", "id": "victim", "nonce": "0" * 32, "pub": victim.key.pem}
        said = msgpack.unpackb(thief.raw(pack({"enc": "clear", "version": 3, "load": load}))[b"load"], raw=True)
        for name in (b"aes", b"session"):
            with pytest.raises(ValueError, match="ecrypt"):
                thief.key.decrypt(said[name], "OAEP-SHA1")
    assert victim.ask("verify_minion") is True, "its session goes on"


def test_every_answer_to_a_stranger_is_signed(site, folder):
    """CVE-2022-22935: a refusal that anybody could say ended minions."""
    rig, stock = site
    master = MinionKey(load_or_create_key(stock.folder / "pki/master.pem").pem)
    with SaltPeer(folder, "signed1", stock.ret_port) as peer:
        load = {"cmd": "_auth", "id": "signed1", "nonce": "0" * 32, "pub": peer.key.pem}
        for state in ("pending", "rejected"):
            if state == "rejected":
                rig.saltern("key", "reject", "signed1", "--yes")
            said = peer.raw(pack({"enc": "clear", "version": 3, "load": load}))
            assert master.verifies(said[b"load"], said[b"sig"], "PKCS1v15-SHA1")
            assert msgpack.unpackb(said[b"load"])["nonce"] == load["nonce"]


def events(rig):
    """Tags of what was heard, and who it is of."""
    lines = rig.saltern("events", "--no-follow", "-n", "1000", "--out", "json").stdout.splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def test_an_event_that_is_said_again_is_heard_once(site, mallory):
    """CVE-2022-22936 and CVE-2024-38823: what was recorded on the network was taken again."""
    rig, _ = site
    frame = mallory.frame("_minion_event", tag="custom/once", data={"x": 1})
    assert mallory.raw(frame) != BAD
    assert mallory.raw(frame) == BAD
    mallory.ask("_minion_event", tag="custom/then", data={"x": 1})
    found = rig.wait("the events", lambda: (heard := events(rig)) and "custom/then" in str(heard) and heard)
    assert sum(each["tag"].endswith("custom/once") for each in found) == 1


def test_a_minion_says_nothing_in_the_name_of_another_in_any_command(mallory, victim):
    """CVE-2024-38822: some commands did not look at who asked."""
    for cmd in COMMANDS:
        assert mallory.raw(mallory.frame(cmd, id="victim", who="mallory")) == BAD
        assert mallory.raw(mallory.frame(cmd, id="victim", who="victim")) == BAD
        assert mallory.raw(mallory.frame(cmd, id="mallory", who="victim")) == BAD


def test_no_event_of_a_minion_is_a_master_s(site, mallory):
    """CVE-2025-22236 and CVE-2025-22239: such an event published jobs to others, and set reactors off."""
    rig, _ = site
    tags = (
        "salt/job/20260101000000000000/ret/victim",
        "salt/auth",
        "salt/key",
        "salt/run/1/new",
        "salt/minion/victim/start",
    )
    for tag in tags:
        mallory.ask(
            "_minion_event", tag=tag, data={"id": "victim", "act": "accept", "fun": "cmd.run", "mark": "forged"}
        )
        mallory.ask(
            "_minion_event", events=[{"tag": tag, "data": {"id": "victim", "mark": "forged"}}], pretag="salt/job"
        )
    mallory.ask("_minion_event", tag="custom/last", data={})
    heard = rig.wait("the events", lambda: (found := events(rig)) and "custom/last" in str(found) and found)
    forged = [each["tag"] for each in heard if '"forged"' in json.dumps(each)]
    assert not [tag for tag in forged if not tag.startswith("minion/mallory/")]


def test_a_minion_chooses_nothing_of_how_its_pillar_is_made(site, mallory):
    """CVE-2025-22237 and CVE-2025-22241: extra sources, which ran commands and wrote keys."""
    _, stock = site
    before = files(stock)
    hostile = {
        "ext": {"git": f"ext::sh -c touch% /tmp/{MARK}"},
        "extra_minion_data": {"id": "victim"},
        "pillarenv": "../../etc",
        "ver": "2",
        "id": "mallory",
    }
    mallory.raw(mallory.frame("_pillar", grains={**GRAINS, "id": "../pki/x", **hostile}, **hostile))
    assert mallory.pillar(GRAINS) == {"mine": "mallory"}
    assert is_untouched(stock, before)


def test_nothing_is_published_by_who_only_listens(site, mallory, victim):
    """CVE-2017-7893: each minion has the key of publications. The port takes subscriptions and no jobs."""
    victim.subscribe()
    mallory.subscribe()
    victim.give(victim.job("test.ping"), True)
    job = {
        "tgt": ["victim"],
        "tgt_type": "list",
        "jid": "20990101000000000000",
        "fun": "cmd.forged",
        "arg": [],
        "ret": "",
    }
    forged = pack({"enc": "aes", "load": mallory.shared.seal(job), "sig_algo": "PKCS1v15-SHA1", "sig": b"x" * 256})
    for kind in ("PUB", "PUSH", "XPUB", "DEALER"):
        mallory.shout(kind, forged)
    with pytest.raises(AssertionError, match="no job"):
        victim.job("cmd.forged", within=3)


def test_who_comes_with_the_id_of_a_deleted_minion_gets_nothing_of_it(site, folder):
    """CVE-2016-9639: what was for the old one was read by the new one."""
    rig, stock = site
    (folder / "new").mkdir()
    with SaltPeer(folder, "reused", stock.ret_port) as old, SaltPeer(folder / "new", "reused", stock.ret_port) as new:
        assert old.authenticate() is True
        rig.saltern("key", "accept", "reused", "--yes")
        stock.wait("it is let in", lambda: isinstance(old.authenticate(), dict))
        old.pillar(GRAINS)
        assert old.ask("_mine", data={"secret.of": MARK}) is True
        rig.saltern("key", "delete", "reused", "--yes")
        stock.wait("it is shut out", lambda: old.raw(old.frame("verify_minion")) == BAD)
        assert new.authenticate() is True
        stock.wait("nothing is kept", lambda: not (stock.folder / "cache/minions/reused").exists())
        newest = max((key for key in rig.ask("/keys") if key["minion"] == "reused"), key=lambda key: key["first_seen"])
        rig.saltern("key", "accept", newest["fingerprint"], "--yes")
        stock.wait("the new one is let in", lambda: isinstance(new.authenticate(), dict))
        assert new.pillar(GRAINS) == {"mine": "reused"}
        assert MARK not in str(new.ask("_mine_get", tgt="*", fun="secret.of", tgt_type="glob"))
        assert old.raw(old.frame("verify_minion")) == BAD
