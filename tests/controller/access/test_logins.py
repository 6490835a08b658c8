"""Passwords that are tried: whose tries count against whom."""

from __future__ import annotations

import pytest

from controller.access.logins import Logins
from controller.access.principals import Principal
from controller.config.access import AccessSettings
from controller.config.limits import AccessLimits
from controller.schema.errors import ServiceError


class Passwords:
    def __init__(self):
        self.asked = 0

    async def is_right(self, user, password):
        self.asked += 1
        return password == "right"


class Kept:
    def keep(self, *_):
        pass


@pytest.fixture
def logins():
    settings = AccessSettings(external_auth={"pam": {}})
    return Logins(
        settings=settings,
        passwords=Passwords(),
        tokens=None,
        audit=Kept(),
        clock=lambda: 0.0,
        limits=AccessLimits(logins_per_minute=3),
        on_refusal=lambda _: None,
    )


def of(address):
    return Principal(name="", address=address)


async def tried(logins, address, user, password):
    try:
        await logins.check(of(address), "pam", user, password)
    except ServiceError as error:
        return error.message
    return "in"


async def test_wrong_passwords_from_elsewhere_keep_nobody_from_logging_in(logins):
    """Whoever reached the port could lock an operator out: ten wrong passwords a minute for its name."""
    for number in range(20):
        assert "wrong" in await tried(logins, f"203.0.113.{number}", "olga", "guess")
    for _ in range(5):
        last = await tried(logins, "198.51.100.1", "olga", "guess")
    assert "3 passwords were tried" in last
    assert await tried(logins, "192.0.2.1", "olga", "right") == "in"


async def test_an_address_tries_so_many_whatever_the_names(logins):
    for number in range(3):
        assert "wrong" in await tried(logins, "198.51.100.1", f"user {number}", "guess")
    assert "3 passwords were tried" in await tried(logins, "198.51.100.1", "olga", "right")
    assert logins.passwords.asked == 3, "PAM is not asked any more"


async def test_a_network_of_ipv6_is_one_address(logins):
    for number in range(3):
        await tried(logins, f"2001:db8::{number}", "olga", "guess")
    assert "3 passwords were tried" in await tried(logins, "2001:db8::ffff", "olga", "guess")
    assert "wrong" in await tried(logins, "2001:db8:0:1::1", "olga", "guess")
