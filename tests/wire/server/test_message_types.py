"""Every type of message, in both directions, sent by a stranger, by a pending key and by an accepted minion.

Nothing is listed by hand but what may have an effect: a type that is added later is refused here until it is allowed.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from wire.codec import decode_to_minion, encode
from wire.messages import Bye, FromRelay, Hello, KeyRequest, Refused, ToController, ToMinion
from wire.server.types import Identity, Incoming, Refusal

TO_CONTROLLER = get_args(ToController)
TO_MINION = get_args(ToMinion)
STRANGERS_MAY = {KeyRequest}
RELAYS_ALONE = {FromRelay}
NAMES_A_MINION = {KeyRequest: "id", Hello: "id"}
"""Fields in which a peer says which minion it is."""

_VALUES: dict[type[Any], Any] = {
    msgspec.inspect.StrType: "web1",
    msgspec.inspect.IntType: 1,
    msgspec.inspect.FloatType: 1.0,
    msgspec.inspect.BoolType: True,
    msgspec.inspect.BytesType: b"x",
    msgspec.inspect.AnyType: None,
    msgspec.inspect.DictType: {},
    msgspec.inspect.VarTupleType: (),
}


def _value(of: Any) -> Any:
    if isinstance(of, msgspec.inspect.LiteralType):
        return of.values[0]
    return _message(of.cls) if isinstance(of, msgspec.inspect.StructType) else _VALUES[type(of)]


def _message(kind: type[Any], **changes: Any) -> Any:
    """One of this type with its required fields."""
    described: Any = msgspec.inspect.type_info(kind)
    values = {field.name: _value(field.type) for field in described.fields if field.required}
    return kind(**values | changes)


@pytest.mark.parametrize("state", [None, "pending", "rejected"])
@pytest.mark.parametrize("kind", [*TO_CONTROLLER, *TO_MINION], ids=lambda kind: kind.__name__)
def test_a_stranger_is_heard_with_a_key_request_alone(controller: Any, kind: type[Any], state: str | None) -> None:
    raw = controller.raw(keys := controller.keys_of(None))
    if state is not None:
        controller.know(keys, "web1", state)
    raw.send(encode(_message(kind)))
    if kind in STRANGERS_MAY:
        assert controller.wait(Incoming).id is None
    else:
        assert controller.wait(Refusal).reason == ("not-accepted" if kind in TO_CONTROLLER else "malformed")
        assert isinstance(decode_to_minion(raw.recv()), Refused)
    assert controller.delivered == []


@pytest.mark.parametrize("kind", TO_CONTROLLER, ids=lambda kind: kind.__name__)
def test_what_an_accepted_minion_says_is_said_by_its_key(controller: Any, kind: type[Any]) -> None:
    raw = controller.raw(controller.keys_of("web1"))
    raw.send(encode(_message(kind)))
    if kind in RELAYS_ALONE:
        assert controller.wait(Refusal).reason == "role"
    else:
        assert controller.wait(Incoming).id == "web1"
    assert controller.delivered == []


@pytest.mark.parametrize("kind", TO_CONTROLLER, ids=lambda kind: kind.__name__)
def test_a_relay_carries_frames_and_may_do_nothing_else(controller: Any, kind: type[Any]) -> None:
    keys = controller.keys_of(None)
    controller.identities[keys.public] = Identity(id="relay1", state="accepted", role="relay")
    raw = controller.raw(keys)
    raw.send(encode(_message(kind, **({"id": "relay1", "role": "relay"} if kind is KeyRequest else {}))))
    if kind in RELAYS_ALONE:
        controller.wait_count("in.from-relay")
    elif kind in (KeyRequest, Bye):
        assert controller.wait(Incoming).id == "relay1"
    else:
        assert controller.wait(Refusal).reason in ("role", "id-mismatch")
    assert controller.delivered == []


@pytest.mark.parametrize("kind", TO_MINION, ids=lambda kind: kind.__name__)
def test_no_minion_speaks_as_a_controller(controller: Any, kind: type[Any]) -> None:
    """Neither to the controller nor, through it, to another minion."""
    controller.peer("db1")
    raw = controller.raw(controller.keys_of("web1"))
    raw.send(encode(_message(kind)))
    assert controller.wait(Refusal).reason == "malformed"
    assert isinstance(decode_to_minion(raw.recv()), Refused)
    assert controller.delivered == []


@pytest.mark.parametrize("kind", TO_CONTROLLER, ids=lambda kind: kind.__name__)
def test_a_message_that_names_another_minion_is_refused(controller: Any, kind: type[Any]) -> None:
    name = NAMES_A_MINION.get(kind)
    if name is None:
        assert not {"id", "minion", "minion_id"} & set(kind.__struct_fields__), "who sends it is said by the key"
        return
    raw = controller.raw(controller.keys_of("web1"))
    raw.send(encode(_message(kind, **{name: "db1"})))
    refusal = controller.wait(Refusal)
    assert (refusal.reason, refusal.id) == ("id-mismatch", "web1")
    assert controller.delivered == []


@pytest.mark.parametrize(
    "name",
    ["__class__", "__init__", "_serve", "deliver", "Hello", "publish", "mk_token", "wheel", "runner", "", "hello "],
)
@pytest.mark.parametrize("minion", [None, "web1"])
def test_no_other_name_is_a_message(controller: Any, name: str, minion: str | None) -> None:
    raw = controller.raw(controller.keys_of(minion))
    raw.send(msgspec.msgpack.encode({"t": name, "cmd": name, "id": "web1", "grains": {}}))
    assert controller.wait(Refusal).reason == "malformed"
    assert controller.delivered == []
