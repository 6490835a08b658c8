"""Patterns that a search by trial never ends with: from a minion, in what it stores, in a branch that is previewed.

A controller that runs one is dead: neither its API nor a signal is answered.
"""

import json
import time

import pytest
import zmq
from effort import steps
from rig import Rig

from wire.address import Address
from wire.client import Connected, Connection
from wire.keys import KeyPair
from wire.messages import GetMine, Hello, HelloAck, KeyRequest, KeyState, Mine, MineEntry, MineFound

SLOW = ".?" * 300 + "Z"
DEEP_GRAIN = ":".join("a" * 60) + ":b"


@pytest.fixture
def rig(make_rig):
    rig = make_rig(minions={"web1": {"roles": ["web"]}})
    rig.wait_applied(rig.push("first"))
    return rig


def receive(connection, kind, rounds=150):
    for _ in range(rounds):
        for message in connection.receive(0.1)[0]:
            if isinstance(message, kind):
                return message
    raise AssertionError(f"no {kind.__name__}")


def nested(depth):
    value = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.fixture
def keys():
    public, secret = zmq.curve_keypair()
    return KeyPair(public=public.decode(), secret=secret.decode())


@pytest.fixture
def connect(rig, keys):
    """A function that connects a minion of ours whose key is accepted."""
    opened = []

    def connect(*, known=False):
        opened.append(accepted_minion(rig, keys, known))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


def accepted_minion(rig: Rig, keys: KeyPair, known: bool) -> Connection:
    publish, request = rig.wire_ports
    address = Address(host="127.0.0.1", publish_port=publish, request_port=request, controller_key=rig.controller_key)
    connection = Connection(address, keys)
    receive(connection, Connected)
    if not known:
        connection.send(KeyRequest(id="hostile"))
        receive(connection, KeyState)
        rig.saltern("key", "accept", "hostile", "--yes")
    connection.send(Hello(id="hostile", grains=nested(60)))
    receive(connection, HelloAck)
    return connection


def ask_mine(connection, target, kind, function="app_address"):
    connection.send(GetMine(request=1, asked=json.dumps([[target, function], {"tgt_type": kind}])))
    return receive(connection, MineFound).answer


def controller_is_well(rig):
    """The API answers at once, and the controller ends when it is asked to."""
    started = time.monotonic()
    assert "web1" in rig.status()
    assert time.monotonic() - started < 1
    settle(rig)
    started = time.monotonic()
    rig.stop("controller")
    assert time.monotonic() - started < 10


def settle(rig):
    """Until the controller has compiled what it was told of, and logs nothing for a second."""
    seen = ""
    while seen != (seen := rig.log("controller", 1000)):
        time.sleep(1)


QUESTIONS = [
    (SLOW, "pcre"),
    (f"E@{SLOW} or web*", "compound"),
    (f"a:{SLOW}", "grain_pcre"),
    (DEEP_GRAIN, "grain"),
    ("(?:" * 240 + "a{1000}" + "){2}" * 180, "pcre"),
]


@pytest.mark.parametrize(("target", "kind"), steps(QUESTIONS, 3))
def test_a_question_to_the_mine(rig, connect, target, kind):
    connection = connect()
    connection.send(Mine(entries={"app_address": MineEntry(value="x")}))
    ask_mine(connection, target, kind)
    controller_is_well(rig)


def test_a_target_that_is_not_run_is_answered_with_the_reason(rig, connect):
    connection = connect()
    connection.send(Mine(entries={"app_address": MineEntry(value="x")}))
    assert "looks ahead" in ask_mine(connection, "(?!web).*", "pcre").error
    assert "longer than 1000 characters" in ask_mine(connection, "x" * 2000, "pcre").error


def test_who_may_have_a_mine_is_stored_and_asked_after_a_restart(rig, connect):
    connection = connect()
    connection.send(Mine(entries={"app_address": MineEntry(value="x", allow=SLOW, allow_type="pcre")}))
    assert ask_mine(connection, "*", "glob").value == {}
    settle(rig)
    rig.stop("controller")
    rig.start_controller()
    connection = connect(known=True)
    assert ask_mine(connection, "*", "glob").value == {}
    controller_is_well(rig)


BRANCHES = [
    ("*", f"{{{{ salt['mine.get']('{SLOW}', 'app_address', 'pcre') }}}}"),
    ("*", f"{{{{ salt['mine.get']('E@{SLOW} or web*', 'app_address', 'compound') }}}}"),
    (f"E@{SLOW}", "a: {test.nop: []}"),
    ("*", f"{{{{ ('a' * 300) | regex_search('{SLOW}') }}}}"),
]


@pytest.mark.parametrize(("target", "state"), steps(BRANCHES, 3))
def test_a_branch_that_is_previewed(rig, connect, target, state):
    connection = connect()
    connection.send(Mine(entries={"app_address": MineEntry(value="x")}))
    (rig.work / "states" / "hostile.sls").write_text(state + "\n")
    (rig.work / "states" / "top.sls").write_text(f"base:\n  '{target}':\n    - hostile\n")
    rig.git("checkout", "-q", "-b", "hostile")
    rig.push("hostile", branch="hostile")
    rig.wait(
        "the branch",
        lambda: rig.saltern("preview", "--base", "main", "--head", "hostile", check=False).returncode != 64,
    )
    started = time.monotonic()
    rig.saltern("preview", "--base", "main", "--head", "hostile", check=False)
    assert time.monotonic() - started < 20
    controller_is_well(rig)
