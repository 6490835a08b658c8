"""Minions that come through another controller share its address, and are not strangers of one address for that."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from wire.limits import StrangerLimits, WireLimits
from wire.server.request_rates import RequestRates

NEVER = float("-inf")


def test_limits_of_one_address_do_not_hold_for_a_controller() -> None:
    limits = StrangerLimits(requests_a_second=10, address_requests_a_second=1, burst_seconds=2.0)
    rates = RequestRates(limits, is_controller="192.0.2.1".__eq__)
    assert [rates.refuse("192.0.2.1", NEVER, 10.0) for _ in range(12)] == [None] * 12
    assert [rates.refuse("192.0.2.2", NEVER, 10.0) for _ in range(3)] == [None] * 2 + ["address-requests-a-second"]
    assert [rates.refuse("192.0.2.1", NEVER, 10.0) for _ in range(7)] == [None] * 6 + ["requests-a-second"]


@pytest.mark.parametrize("passed_on", [True, False])
def test_strangers_of_another_address_make_room_first(controller_with: Any, passed_on: bool) -> None:
    """Three come by a controller at 127.0.0.1, and two from elsewhere, where three may be."""
    controller = controller_with(
        borders=WireLimits(
            stranger=StrangerLimits(connections=3),
            is_controller=lambda address: passed_on and address == "127.0.0.1",
        )
    )
    address = ("127.0.0.1", controller.server.ports.request)
    clients = [socket.create_connection(address) for _ in range(3)]
    end = time.monotonic() + 30
    while controller.server.stranger_connections() < 3 and time.monotonic() < end:
        time.sleep(0.01)
    clients += [socket.create_connection(address, source_address=("127.0.0.9", 0)) for _ in range(2)]
    while sum(map(is_ended, clients)) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    ended = [is_ended(client) for client in clients]
    for client in clients:
        client.close()
    assert sum(ended) == 2
    assert sum(ended[3:]) == (2 if passed_on else 0)


def is_ended(client: socket.socket) -> bool:
    """Whether the server has ended this connection."""
    client.settimeout(0.05)
    try:
        while client.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True
