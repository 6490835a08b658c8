"""Signs of life wait for company, and nothing else does."""

from __future__ import annotations

import pytest

from wire.messages import KeepAlive, KeyRequest
from wire.server import delivery_batch
from wire.server.delivery_batch import ALIVE_SECONDS, DeliveryBatch
from wire.server.types import Gone, Incoming

ALIVE = Incoming(key="k1", id="web1", message=KeepAlive())


def test_signs_of_life_wait_until_they_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(delivery_batch.time, "monotonic", lambda: now)
    batch = DeliveryBatch()
    assert batch.wait_milliseconds() == -1
    batch.add([ALIVE])
    assert batch.take() == []
    assert 0 < batch.wait_milliseconds() <= ALIVE_SECONDS * 1000 + 1
    batch.add([ALIVE])
    now += ALIVE_SECONDS
    assert batch.take() == [ALIVE, ALIVE]
    assert batch.wait_milliseconds() == -1


@pytest.mark.parametrize("other", [Gone(key="k2"), Incoming(key="k2", id="web2", message=KeyRequest(id="web2"))])
def test_what_else_comes_takes_them_along_in_their_order(other: Gone | Incoming) -> None:
    batch = DeliveryBatch()
    batch.add([ALIVE])
    assert batch.take() == []
    batch.add([other])
    assert batch.take() == [ALIVE, other]


def test_many_of_them_do_not_wait() -> None:
    batch = DeliveryBatch()
    batch.add([ALIVE] * 256)
    assert len(batch.take()) == 256
