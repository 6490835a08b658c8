"""How often keys that are not accepted may ask."""

from __future__ import annotations

import pytest

from wire.limits import StrangerLimits
from wire.server.request_rates import RequestRates, network_of

NEVER = float("-inf")


@pytest.fixture
def rates():
    return RequestRates(StrangerLimits(requests_a_second=4, address_requests_a_second=2, burst_seconds=2.0))


def test_a_connection_asks_no_sooner_than_it_may(rates):
    assert rates.refuse("a", NEVER, 10.0) is None
    assert rates.refuse("a", 10.0, 10.4) == "request-seconds"
    assert rates.refuse("a", 10.0, 10.6) is None


def test_an_address_leaves_room_for_others(rates):
    found = [rates.refuse("a", NEVER, 10.0) for _ in range(6)]
    assert found == [None] * 4 + ["address-requests-a-second"] * 2
    assert rates.refuse("b", NEVER, 10.0) is None
    assert rates.refuse("a", NEVER, 11.0) is None


def test_all_together_are_bounded(rates):
    found = [rates.refuse(f"10.0.0.{number}", NEVER, 10.0) for number in range(10)]
    assert found == [None] * 8 + ["requests-a-second"] * 2
    assert rates.refuse("c", NEVER, 10.5) is None


def test_addresses_are_not_remembered_for_ever(rates):
    for number in range(30_000):
        rates.refuse(str(number), NEVER, number * 1.0)
    assert len(rates._by_address) <= 10_000


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("odd:one", "odd:one"),
        ("", ""),
    ],
)
def test_a_network_of_ipv6_counts_as_one_address(address, network):
    assert network_of(address) == network
