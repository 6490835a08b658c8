import msgspec
import pytest

from reactors.storable import storable


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (20261122210405701366, "20261122210405701366"),
        (-(2**64), str(-(2**64))),
        (2**64 - 1, 2**64 - 1),
        (True, True),
        ("\ud800", "\\ud800"),
        ({2**70: [(1, {2**70})]}, {str(2**70): [[1, [str(2**70)]]]}),
        (object, "<class 'object'>"),
    ],
)
def test_what_is_stored_can_be_packed(value, stored):
    assert storable(value) == stored
    msgspec.msgpack.encode(storable(value))
