"""How a key comes to be accepted, with a real controller and real connections."""

import json
import os

import pytest
from strangers import Stranger, new_keys

from wire.keys import fingerprint, load_or_create, write_public
from wire.messages import DesiredUpdate, Hello, HelloAck, KeyRequest, KeyState, NewKey, Refused


@pytest.fixture
def dial():
    """Opens connections, which end with the test."""
    opened = []

    def make(rig, keys=None, **options):
        opened.append(Stranger(rig, keys, **options).connect())
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_a_minion_that_waits_is_told_at_once_that_its_key_is_accepted(make_rig, dial):
    rig = make_rig(minions={})
    rig.push("first")
    minion = dial(rig)
    assert minion.ask(KeyRequest(id="web1"), KeyState).state == "pending"
    rig.saltern("key", "accept", "web1", "--yes")
    assert minion.wait(KeyState).state == "accepted", "it asked once, and is told without asking again"
    minion.ask(Hello(id="web1", grains={"root": "/nowhere"}), HelloAck)
    minion.wait(DesiredUpdate)
    rig.saltern("key", "reject", "web1", "--yes")
    assert minion.ask(KeyRequest(id="web1"), KeyState).state == "rejected"
    rig.saltern("key", "accept", "web1", "--yes")
    assert minion.wait(KeyState).state == "accepted", "a rejected key, too"


def test_a_key_that_is_known_beforehand(make_rig, dial, tmp_path):
    rig = make_rig(minions={})
    write_public(tmp_path / "web1.pub", load_or_create(tmp_path / "web1.key").public)  # as `saltern key gen` does
    rig.saltern("key", "add", "web1", str(tmp_path / "web1.pub"))
    minion = dial(rig, load_or_create(tmp_path / "web1.key"))
    assert minion.ask(KeyRequest(id="web1"), KeyState).state == "accepted", "its first question"
    other = dial(rig)
    assert other.ask(KeyRequest(id="web1"), KeyState).state == "pending"
    again = rig.saltern("key", "add", "web2", str(tmp_path / "web1.pub"), check=False)
    assert "this key belongs to the minion 'web1'; delete it there first" in again.stderr
    keys = (new_keys().public for _ in range(5000))
    public = next(key for key in keys if key.startswith("-"))  # looks like an option
    taken = rig.saltern("key", "add", "WEB1", public, check=False)
    assert "another key is accepted for 'WEB1'" in taken.stderr
    assert "Key for relay edge accepted." in rig.saltern("key", "add", "--relay", "edge", public).stdout
    [edge] = [each for each in rig.ask("/keys") if each["minion"] == "edge"]
    assert (edge["role"], edge["state"]) == ("relay", "accepted")
    assert rig.saltern("key", "add", "../web3", public, check=False).returncode == 64
    assert rig.saltern("key", "add", "web3", "no key", check=False).returncode == 1


def test_tokens_accept_so_many_keys_with_fitting_ids(make_rig, dial):
    rig = make_rig(minions={})
    made = json.loads(rig.saltern("key", "token", "create", "--id", "web*", "--count", "2", "--out", "json").stdout)
    token = made["token"]
    assert token not in (rig.directory / "c/var/lib/saltern/controller.sqlite").read_bytes().decode("latin-1")
    assert "web*" in rig.saltern("key", "token", "list").stdout
    assert token not in rig.saltern("key", "token", "list", "--out", "json").stdout
    wrong_id = dial(rig).ask(KeyRequest(id="db1", token=token), KeyState)
    assert (wrong_id.state, wrong_id.message[:27]) == ("pending", "the enrolment token is not ")
    first = dial(rig)
    assert first.ask(KeyRequest(id="web1", token=token), KeyState).state == "accepted"
    assert first.ask(KeyRequest(id="web1", token=token), KeyState).state == "accepted", "asked again, nothing is used"
    taken = dial(rig).ask(KeyRequest(id="web1", token=token), KeyState)
    assert (taken.state, taken.message) == ("pending", "another key is accepted for this id")
    assert dial(rig).ask(KeyRequest(id="web2", token=token), KeyState).state == "accepted"
    assert dial(rig).ask(KeyRequest(id="web3", token=token), KeyState).state == "pending", "it is used up"
    other = json.loads(rig.saltern("key", "token", "create", "--out", "json").stdout)
    rig.saltern("key", "token", "revoke", other["view"]["id"])
    assert dial(rig).ask(KeyRequest(id="web4", token=other["token"]), KeyState).state == "pending"
    assert rig.saltern("key", "token", "revoke", "nothing", check=False).returncode == 5
    assert token not in rig.log("controller", 10_000)


def test_a_token_is_used_once_also_when_the_controller_is_killed(make_rig, dial):
    rig = make_rig(minions={})
    token = json.loads(rig.saltern("key", "token", "create", "--out", "json").stdout)["token"]
    keys = new_keys()
    assert dial(rig, keys).ask(KeyRequest(id="web1", token=token), KeyState).state == "accepted"
    rig.kill("controller", children=True)
    rig.start_controller()
    assert dial(rig, keys).ask(KeyRequest(id="web1"), KeyState).state == "accepted"
    assert dial(rig).ask(KeyRequest(id="web2", token=token), KeyState).state == "pending"


def test_guesses_of_tokens_are_few(make_rig, dial):
    rig = make_rig(minions={}, limits={"stranger": {"wrong_tokens": 3, "wrong_tokens_a_second": 0.0001}})
    token = json.loads(rig.saltern("key", "token", "create", "--out", "json").stdout)["token"]
    for number in range(3):
        assert dial(rig).ask(KeyRequest(id=f"x{number}", token=f"enrol-{number}"), KeyState).state == "pending"
    assert dial(rig).ask(KeyRequest(id="web1", token=token), KeyState).state == "pending", "not even the good one"
    assert rig.ask("/keys/refused")["limits"]["wrong-tokens"] == 1


def test_an_agent_with_a_token_in_a_file_and_one_with_grains(make_rig, tmp_path):
    rig = make_rig(minions={}, autosign_grains_dir="/etc/saltern/autosign_grains")
    grains = rig.directory / "c/etc/saltern/autosign_grains"  # below `root_dir`
    grains.mkdir(parents=True)
    (grains / "uuid").write_text("# machines of room 1\n4711\n")
    token = json.loads(rig.saltern("key", "token", "create", "--id", "web1", "--out", "json").stdout)["token"]
    (tmp_path / "token").write_text(token + "\n")
    (tmp_path / "token").chmod(0o600)
    rig.minions = {"web1": {}, "db1": {"uuid": 4711}, "db2": {"uuid": 4712}}
    rig.configure_minions()
    for minion, more in (
        ("web1", f"enrolment_token_file: {tmp_path}/token\n"),
        ("db1", "autosign_grains: [uuid, kernel]\n"),
        ("db2", "autosign_grains: [uuid]\n"),
    ):
        with (rig.directory / minion / "minion").open("a") as file:
            file.write(more)
        rig.start_minion(minion)
    rig.wait("two to be accepted", lambda: sorted(rig.keys("accepted")) == ["db1", "web1"])
    rig.wait("the third to wait", lambda: rig.keys("pending") == ["db2"])
    rig.wait("both to connect", lambda: sum(each["connected"] for each in rig.status().values()) == 2)
    rig.wait("its cause to be told", lambda: "event=key_pending minion=db2" in rig.log("db2"))


def test_files_say_who_is_accepted_and_who_rejected(make_rig, dial):
    rig = make_rig(minions={}, autosign_file="/etc/saltern/autosign", autoreject_file="/etc/saltern/autoreject")
    folder = rig.directory / "c/etc/saltern"
    autosign, autoreject = folder / "autosign", folder / "autoreject"
    autosign.write_text("# ids\nweb1\ndb*\nmail[0-9]+\\.example\n(a+)+\n")
    autoreject.write_text("db9\n")

    def state(name):
        return dial(rig).ask(KeyRequest(id=name), KeyState).state

    found = {name: state(name) for name in ("web1", "web11", "db1", "db9", "mail7.example", "mail7.examples")}
    assert found == {
        "web1": "accepted",
        "web11": "pending",
        "db1": "accepted",
        "db9": "rejected",
        "mail7.example": "accepted",
        "mail7.examples": "pending",
    }
    autosign.write_text("web2\n")
    assert state("web2") == "accepted", "it is read again"
    autosign.chmod(0o666)
    assert state("web2x") == "pending"
    autosign.write_text("web3\n")
    assert state("web3") == "pending"
    assert "everyone may write it; run: chmod o-w" in rig.log("controller", 1000)
    autosign.chmod(0o664)
    assert state("web3") == "pending", "its group may write it"
    stub = rig.directory / "c/etc/saltern/pki/controller/minions_autosign"
    stub.mkdir()
    (stub / "one").touch()
    (stub / "old").touch()
    os.utime(stub / "old", (1.0, 1.0))
    assert state("one") == "accepted"
    rig.wait("the file to be gone", lambda: not (stub / "one").exists())
    assert state("old") == "pending"
    assert not (stub / "old").exists()


def test_auto_accept_is_warned_of(make_rig, dial):
    rig = make_rig(minions={}, auto_accept=True)
    assert dial(rig).ask(KeyRequest(id="web1"), KeyState).state == "accepted"
    assert dial(rig).ask(KeyRequest(id="web1"), KeyState).state == "pending", "another key for an id that is taken"
    assert "auto_accept: whoever asks first for an id gets it" in rig.log("controller", 1000)


def files_of(rig, minion):
    folder = rig.directory / minion / "agent/etc/saltern/pki/minion"
    return folder / "minion.key", folder / "minion.key.next"


def test_the_key_of_a_minion_is_rotated(make_rig):
    rig = make_rig(minions={"web1": {}})
    rig.wait_applied(rig.push("first"))
    key, following = files_of(rig, "web1")
    old = load_or_create(key)
    done = json.loads(rig.saltern("key", "rotate", "web1", "--out", "json").stdout)
    assert done["old"] == fingerprint(old.public)
    rig.wait("it to be back", lambda: rig.status()["web1"]["connected"])
    rig.wait("the new key to be its key", lambda: not following.exists())
    new = load_or_create(key)
    assert (fingerprint(new.public), new != old) == (done["new"], True)
    assert (rig.keys("accepted"), rig.keys("rejected")) == (["web1"], ["web1"])
    assert rig.saltern("run", "web1", "test.ping").returncode == 0
    # Killed before the rename: the controller has the new key, the minion both.
    rig.stop("web1")
    key.rename(following)
    key.write_text(f"public: {old.public}\nsecret: {old.secret}\n")
    key.chmod(0o600)
    rig.start_minion("web1")
    rig.wait("the new key to be found", lambda: not following.exists() and load_or_create(key) == new)
    rig.wait("it to be back", lambda: rig.status()["web1"]["connected"])
    # Killed before the controller had the new key: the old one is used, and the next rotation takes that new one.
    rig.stop("web1")
    third = load_or_create(following)
    rig.start_minion("web1")
    rig.wait("it to be back", lambda: rig.status()["web1"]["connected"])
    assert load_or_create(key) == new
    rig.saltern("key", "rotate", "web1")
    rig.wait("the next key to be its key", lambda: not following.exists() and load_or_create(key) == third)
    rig.wait("it to be back", lambda: rig.status()["web1"]["connected"])


def test_a_new_key_that_the_controller_never_had_is_given_up(make_rig):
    rig = make_rig(minions={"web1": {}})
    key, following = files_of(rig, "web1")
    own = load_or_create(key)
    load_or_create(following)
    rig.saltern("key", "reject", "web1", "--yes")
    rig.wait("the new one to be tried and given up", lambda: not following.exists())
    assert load_or_create(key) == own
    rig.saltern("key", "accept", fingerprint(own.public), "--yes")
    rig.wait("it to be back", lambda: rig.status()["web1"]["connected"])


def test_nobody_changes_a_key_unasked(make_rig, dial):
    rig = make_rig(minions={})
    minion = dial(rig)
    minion.ask(KeyRequest(id="web1"), KeyState)
    rig.saltern("key", "accept", "web1", "--yes")
    minion.wait(KeyState)
    minion.ask(Hello(id="web1", grains={}), HelloAck)
    assert minion.ask(NewKey(public=new_keys().public), Refused).message == "nobody has asked for a new key"
    assert rig.saltern("key", "rotate", "web1", check=False).returncode == 1, "its Hello says that it knows no rotation"
    assert "too old" in rig.saltern("key", "rotate", "web1", check=False).stderr
    assert "not connected" in rig.saltern("key", "rotate", "nobody", check=False).stderr
    assert rig.ask("/keys")[0]["public_key"] == minion.keys.public


def test_the_key_of_the_controller_is_rotated(make_rig):
    rig = make_rig(minions={"web1": {}, "web2": {}})
    rig.stop("web2")
    rig.wait("one to be away", lambda: not rig.status()["web2"]["connected"])
    made = json.loads(rig.saltern("key", "rotate", "--controller", "--out", "json").stdout)
    assert (made["told"], made["away"]) == (1, ["web2"])
    rig.wait("it to be heard", lambda: "event=next_controller_key" in rig.log("web1"))
    old = rig.controller_key
    rig.stop("controller")
    folder = rig.directory / "c/etc/saltern/pki/controller"
    (folder / "controller.key.next").rename(folder / "controller.key")
    rig.start_controller()
    assert (rig.controller_key, old != made["public"]) == (made["public"], True)
    rig.wait("it to be back", lambda: rig.status()["web1"]["connected"])
    assert rig.saltern("run", "web1", "test.ping").returncode == 0
    rig.stop("web1")
    rig.start_minion("web1")
    rig.wait("it to be back after its restart", lambda: rig.status()["web1"]["connected"])
    rig.start_minion("web2")
    rig.wait("the one that was away to say why", lambda: "has another key than `controller_key`" in rig.log("web2"))
    assert not rig.status()["web2"]["connected"]
