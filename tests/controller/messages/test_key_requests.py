"""No room for another key is told as Salt tells it, and not as often as strangers ask."""

from pathlib import Path

import pytest
import zmq

from controller.enrolment.autosign import Autosign, AutosignSettings
from controller.enrolment.enrolment import Enrolment
from controller.enrolment.tokens import EnrolmentDesk
from controller.messages.after_commit import AfterCommit
from controller.messages.context import MessageContext
from controller.messages.key_requests import TOLD_SECONDS, KeyRequests
from controller.messages.key_rotations import KeyRotations
from controller.messages.replies import Replies
from controller.messages.stock_keys import StockKeys
from controller.observe.metrics import Metrics
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.store import Store
from reactors.bus import Bus
from wire.keys import fingerprint, new_pair
from wire.limits import StrangerLimits
from wire.messages import HelloAck, KeyRequest, KeyState, Refused
from wire.server.types import Incoming


class Sockets:
    def __init__(self):
        self.sent = []

    def send(self, key, message):
        self.sent.append(message)


class Builds:
    def fleet_changed(self):
        pass


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        yield store


def test_a_request_without_room_is_told_now_and_then_with_salts_word(store):
    now = [100.0]
    bus, server, after_commit = Bus(lambda: now[0]), Sockets(), AfterCommit()
    context = MessageContext(
        store=store,
        sessions=Sessions(),
        bus=bus,
        metrics=Metrics(lambda: now[0]),
        clock=lambda: now[0],
        after_commit=after_commit,
    )
    requests = KeyRequests(
        context=context,
        replies=Replies(context=context, server=server, greeting=HelloAck(epoch="e", alive_interval=15.0)),
        keyring=KeyRegistry(limits=StrangerLimits(pending_keys=2, address_pending_keys=1)),
        builds=Builds(),
        rotations=KeyRotations(
            context=context,
            replies=Replies(context=context, server=server, greeting=HelloAck(epoch="e", alive_interval=15.0)),
            keyring=KeyRegistry(),
            next_key_file=Path("/nowhere/controller.key.next"),
        ),
        stock_keys=StockKeys(own=new_pair(), identity=lambda key: None),
        enrolment=Enrolment(
            autosign=Autosign(AutosignSettings()),
            tokens=EnrolmentDesk(store=store.enrolment_tokens, limits=StrangerLimits(), clock=lambda: 1.0),
        ),
    )
    keys = [zmq.curve_keypair()[0].decode() for _ in range(4)]

    def ask(key):
        requests.take_together([Incoming(key=key, id=None, message=KeyRequest(id="web1"), address="192.0.2.1")])
        after_commit.run()

    with bus.subscribe("salt/auth") as told:
        for key in keys:
            ask(key)
        first = told.drain()
        now[0] += TOLD_SECONDS
        ask(keys[3])
        later = told.drain()
    assert [type(message) for message in server.sent] == [KeyState, Refused, Refused, Refused, Refused]
    assert [event.data["act"] for event in first] == ["pend", "full"]
    assert first[1].data == {"id": "web1", "act": "full", "result": False, "fingerprint": fingerprint(keys[1])}
    assert [event.data["fingerprint"] for event in later] == [fingerprint(keys[3])]
