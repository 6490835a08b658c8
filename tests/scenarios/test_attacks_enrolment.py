"""Attacks on how keys come to be accepted: ids, replayed requests, other minions' ids, a controller that is none."""

from __future__ import annotations

import json
import threading

import pytest
import zmq
from strangers import Stranger, new_keys

from wire.codec import encode
from wire.messages import Hello, HelloAck, KeyRequest, KeyState, NewKey, Refused

BAD_IDS = {
    "empty": "",
    "traversal": "../../etc/passwd",
    "slash": "web1/../db1",
    "absolute": "/web1",
    "dots": "..",
    "hidden": ".web1",
    "NUL": "web1\0",
    "newline": "web1\n",
    "return": "web1\r",
    "escape": "web1\x1b[2J",
    "space": "web1 ",
    "glob": "*",
    "cyrillic": "w\u0435b1",
    "fullwidth": "\uff57eb1",
    "combining": "we\u0301b1",
    "joiner": "web\u200d1",
    "backwards": "\u202e1bew",
    "long": "a" * 254,
    "4 kB": "a" * 4000,
}


@pytest.fixture
def dial():
    opened = []

    def make(rig, keys=None, **options):
        opened.append(Stranger(rig, keys, **options).connect())
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_no_key_has_an_id_that_leads_elsewhere(make_rig, dial):
    rig = make_rig(minions={}, auto_accept=True)
    for name in BAD_IDS.values():
        answer = dial(rig).ask(KeyRequest(id=name), Refused).message
        assert answer in (
            "no minion can have this id: letters, digits and _ . - @ : are allowed",
            "the message is too large",
        )
    assert rig.ask("/keys") == []
    assert dial(rig).ask(KeyRequest(id="web1"), KeyState).state == "accepted"
    assert [key["minion"] for key in rig.ask("/keys")] == ["web1"]


def test_an_id_that_differs_in_case_is_no_other_minion(make_rig, dial):
    rig = make_rig(minions={}, auto_accept=True)
    assert dial(rig).ask(KeyRequest(id="web1"), KeyState).state == "accepted"
    assert dial(rig).ask(KeyRequest(id="WEB1"), KeyState).state == "pending"


def test_an_enrolment_that_is_sent_again_gives_nothing(make_rig, dial):
    """By another key, by the same one for another id, and after the key was deleted."""
    rig = make_rig(minions={})
    token = json.loads(rig.saltern("key", "token", "create", "--id", "web1", "--out", "json").stdout)["token"]
    request = KeyRequest(id="web1", token=token)
    keys = new_keys()
    minion = dial(rig, keys)
    assert minion.ask(request, KeyState).state == "accepted"
    assert minion.ask(KeyRequest(id="db1", token=token), Refused).message == "this is not the id of your key"
    assert dial(rig).ask(request, KeyState).state == "pending"
    rig.saltern("key", "delete", "web1", "--yes")
    assert dial(rig, keys).ask(request, KeyState).state == "pending"


def test_a_deleted_id_that_enrols_anew_gets_nothing_of_the_old(make_rig, dial):
    rig = make_rig(minions={}, auto_accept=True)
    rig.push("first")
    old = dial(rig)
    old.ask(KeyRequest(id="web1"), KeyState)
    old.ask(Hello(id="web1", grains={"root": "/nowhere", "secret": "of the old"}), HelloAck)
    rig.wait("its grains", lambda: "web1" in rig.status())
    rig.saltern("key", "delete", "web1", "--yes")
    assert "web1" not in rig.status()
    new = dial(rig)
    assert new.ask(KeyRequest(id="web1"), KeyState).state == "accepted"
    assert rig.status().get("web1", {}).get("connected") is not True
    new.ask(Hello(id="web1", grains={"root": "/nowhere"}), HelloAck)
    assert "of the old" not in json.dumps(rig.ask("/status"))
    assert old.ask(Hello(id="web1", grains={}), Refused).message == "your key is not accepted"


def test_what_a_stranger_may_not_send_changes_no_key(make_rig, dial):
    rig = make_rig(minions={})
    pending = dial(rig)
    pending.ask(KeyRequest(id="web1"), KeyState)
    before = rig.ask("/keys")
    for message in (Hello(id="web1", grains={}), NewKey(public=new_keys().public)):
        assert pending.ask(message, Refused).message == "your key is not accepted"
    assert rig.ask("/keys") == before


def test_a_controller_with_another_key_hears_nothing_of_a_minion(make_rig, tmp_path):
    """Whoever answers at the controller's address has no key request, and no token, and is told of in the log."""
    rig = make_rig(minions={})
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    rogue = context.socket(zmq.ROUTER)
    rogue.linger = 0
    rogue.curve_server = True
    keys = new_keys()
    rogue.curve_publickey, rogue.curve_secretkey = keys.public.encode(), keys.secret.encode()
    port = rogue.bind_to_random_port("tcp://127.0.0.1")
    heard = []
    stop = threading.Event()

    def listen():
        while not stop.is_set():
            if rogue.poll(100):
                heard.append(rogue.recv_multipart())

    listener = threading.Thread(target=listen)
    listener.start()
    rig.minions = {"web1": {}}
    rig.configure_minions()
    file = rig.directory / "web1/minion"
    file.write_text(file.read_text().replace(str(rig.wire_ports[1]), str(port)) + "enrolment_token: enrol-secret\n")
    rig.start_minion("web1")
    rig.wait("it to be told", lambda: "has another key than `controller_key` here" in rig.log("web1"))
    stop.set()
    listener.join()
    context.destroy(linger=0)
    assert heard == []
    assert len(encode(KeyRequest(id="web1", token="enrol-secret"))) < 4096, "it would have fitted"
