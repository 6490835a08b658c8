"""A minion that is accepted gets one place, however often it asks meanwhile, and no other waits for the disk."""

import asyncio
import datetime
import os
import threading

import pytest

from gateway.admission import Admission
from gateway.controllers import ControllerPlaces
from gateway.gateway import controller_side
from gateway.known_minions import KnownStockMinions
from gateway.limits import GatewayLimits
from gateway.metrics import GatewayMetrics
from gateway.minions.files import KeptContents
from gateway.minions.minion import MinionPlace
from gateway.protocol.rsa_keys import MinionKey, load_or_create_key
from gateway.publications import Publications
from wire.address import Address
from wire.keys import load_or_create


@pytest.fixture
def known(tmp_path):
    return KnownStockMinions(tmp_path / "minions")


@pytest.fixture
async def admission(tmp_path, known):
    key = load_or_create(tmp_path / "controller.key").public
    address = Address(host="127.0.0.1", publish_port=1, request_port=2, controller_key=key)
    places = ControllerPlaces({"controller": address})
    place = MinionPlace(
        folder=tmp_path / "cache",
        side=controller_side(places, tmp_path, "gateway1", None),
        contents=KeptContents(),
        publications=Publications(lambda *_: None, lambda: datetime.datetime.now(datetime.UTC)),
        listens_at=lambda _: False,
        session_seconds=60.0,
    )
    metrics = GatewayMetrics(None, lambda: [], places)
    own = load_or_create_key(tmp_path / "master.pem")
    made = Admission(own, place, known, GatewayLimits(), metrics, lambda *_: b"")
    yield made
    for task in made.tasks():
        task.cancel()
    await asyncio.gather(*made.tasks(), return_exceptions=True)
    place.side.context.term()


async def test_who_asks_twice_at_once_has_one_place_and_is_kept(tmp_path, known, admission, monkeypatch):
    pem = load_or_create_key(tmp_path / "minion.pem").pem
    minion = known.new("web1", MinionKey(pem), load_or_create(tmp_path / "wire.key"))
    threads, real = set(), os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: threads.add(threading.get_ident()) or real(number))
    first, second = await asyncio.gather(admission.serve_from_now(minion), admission.serve_from_now(minion))
    assert threads
    assert threading.get_ident() not in threads
    assert first is second
    assert [each.id for each in known.all()] == ["web1"]
    assert len(admission.tasks()) == 1
