"""What is said of a controller that cannot be reached, with real children."""

import select
import socket

import pytest

from minion.agent.controllers.connection_trouble import CHILD_SECONDS, TOLD_AFTER, ConnectionTrouble
from minion.processes import fork
from wire.address import Address
from wire.keys import fingerprint

KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"


@pytest.fixture
def trouble_of():
    def make(host, port, relay_key=""):
        address = Address(host=host, request_port=port, controller_key=KEY, relay_key=relay_key)
        return ConnectionTrouble("web1", address, lambda task: fork(task, umask=0o22))

    return make


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def until_told(trouble, now):
    """Let the child look, and take what it says."""
    trouble.look(now)
    assert trouble.readers()
    while trouble.readers():
        select.select(trouble.readers(), [], [])
        trouble.receive(now)


def test_a_cause_is_told_once_and_the_end_of_it_once(trouble_of, closed_port, caplog):
    trouble = trouble_of("127.0.0.1", closed_port)
    trouble.dialling(100.0)
    assert trouble.due_at == 100.0 + TOLD_AFTER
    now, pauses = 100.0, []
    for _ in range(9):
        now, before = trouble.due_at, now
        pauses.append(now - before)
        until_told(trouble, now)
    assert pauses == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 600.0, 600.0]
    [told] = caplog.messages
    assert f"minion=web1 controller=127.0.0.1:{closed_port} seconds=5 cause=nothing listens on" in told
    assert "do=see that the controller runs there" in told
    trouble.connected(2000.0)
    assert trouble.due_at == float("inf")
    assert f"event=controller_reached minion=web1 controller=127.0.0.1:{closed_port} seconds=1900" in caplog.messages[1]
    trouble.dialling(2000.0)
    trouble.connected(2001.0)
    assert len(caplog.messages) == 2, "a short loss is not told"


def test_another_cause_is_told_again(trouble_of, caplog):
    trouble = trouble_of("no-such-host.invalid", 4506)
    trouble.dialling(0.0)
    until_told(trouble, trouble.due_at)
    assert "cause=no-such-host.invalid has no address" in caplog.messages[0]
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        trouble._address = Address(host=host, request_port=port, controller_key=KEY)
        server.close()
        until_told(trouble, trouble.due_at)
    assert "cause=nothing listens on" in caplog.messages[1]


def test_a_child_that_hangs_is_ended_and_its_time_told(trouble_of, caplog):
    import time

    address = Address(host="h", request_port=1, controller_key=KEY)
    trouble = ConnectionTrouble("web1", address, lambda task: fork(lambda pipe: time.sleep(600), umask=0o22))
    trouble.dialling(0.0)
    trouble.look(TOLD_AFTER)
    trouble.look(TOLD_AFTER + CHILD_SECONDS)
    while trouble.readers():
        select.select(trouble.readers(), [], [])
        trouble.receive(30.0)
    assert "cause=h has no address: no answer in time" in caplog.messages[0]


def test_what_a_child_finds_after_there_is_a_connection_is_not_told(trouble_of, closed_port, caplog):
    trouble = trouble_of("127.0.0.1", closed_port)
    trouble.dialling(0.0)
    trouble.look(TOLD_AFTER)
    trouble.connected(6.0)
    trouble.dialling(7.0)
    while trouble.readers():
        select.select(trouble.readers(), [], [])
        trouble.receive(8.0)
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("handshake", "cause"),
    [
        ("", "takes connections, and none has come about"),
        ("the controller does not let this key in (ZAP status 400)", "does not let this key in"),
        (
            "the connection was closed in the handshake",
            f"has another key than `controller_key` here, whose fingerprint is {fingerprint(KEY)}",
        ),
    ],
)
def test_what_a_handshake_says(trouble_of, controller, caplog, handshake, cause):
    trouble = trouble_of("127.0.0.1", controller.ports[1])
    trouble.dialling(0.0)
    if handshake:
        trouble.handshake_failed(handshake)
    until_told(trouble, trouble.due_at)
    assert cause in caplog.messages[0]


def test_a_relay_is_named_in_what_a_handshake_says(trouble_of, controller, caplog):
    trouble = trouble_of("127.0.0.1", controller.ports[1], relay_key=KEY)
    trouble.dialling(0.0)
    trouble.handshake_failed("the relay is not connected to its controller")
    until_told(trouble, trouble.due_at)
    assert "by the relay on 127.0.0.1" in caplog.messages[0]
    assert "the relay is not connected to its controller" in caplog.messages[0]
    assert "`saltern relay --key`" in caplog.messages[0]
