"""The controllers of a gateway: how soon one that is silent counts as gone."""

import pytest

from gateway.controllers import SILENCE, ControllerPlaces
from wire.address import Address


@pytest.mark.parametrize(
    ("interval", "silence", "handshake"), [(0.0, SILENCE, 15.0), (1.0, 2.0, 5.0), (5.0, 10.0, 10.0), (20.0, 40.0, 15.0)]
)
def test_the_own_link_finds_out_and_the_others_follow(interval, silence, handshake):
    places = ControllerPlaces({"c1": Address(host="c1", controller_key="k")}, alive_interval=interval)
    assert (places.own_timing.silence, places.own_timing.handshake) == (silence, handshake)
    assert places.own_timing.heartbeat <= silence / 2
    assert places.timing.silence == SILENCE
