"""Room for the connections to the controller, of which each stock minion has one."""

import zmq

from gateway.controllers import ControllerPlaces
from gateway.gateway import controller_side
from wire.address import Address
from wire.keys import load_or_create


def test_there_are_sockets_for_ten_thousand_minions(tmp_path):
    """libzmq has 1,023 where nobody asks for more, and a minion takes four."""
    key = load_or_create(tmp_path / "controller.key").public
    address = Address(host="127.0.0.1", publish_port=1, request_port=2, controller_key=key)
    side = controller_side(ControllerPlaces({"controller": address}), tmp_path, "gateway1", None)
    try:
        assert side.context.get(zmq.MAX_SOCKETS) >= 4 * 10_000
    finally:
        side.context.term()
