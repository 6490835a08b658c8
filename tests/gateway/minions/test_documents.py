"""What a stock minion is told of a new document, and which pillar it has."""

import pytest

from gateway.minions import documents
from gateway.minions.documents import StockDocuments
from gateway.minions.grains import StockGrains
from highstate.desired import Desired
from highstate.types import Chunk
from wire import patch
from wire.messages import DesiredUpdate


def update(held, **parts):
    """An update from what is held to a document with these parts."""
    chunk = Chunk(state="test", fun="nop", id="a", name="a", sls="web", saltenv="base", order=1)
    document = Desired(chunks={"test_|-a_|-a_|-nop": chunk}, **parts).as_document()
    base = held.held().as_document() if held.held() is not None else {}
    return DesiredUpdate(
        generation=held.state.generation + 1,
        base=held.state.digest,
        digest=patch.digest(document),
        patch=patch.diff(base, document),
    )


@pytest.fixture
def held(tmp_path):
    return StockDocuments(tmp_path, "web1", shadow_at_first=True)


async def test_a_minion_looks_anew_at_what_has_changed_alone(held):
    assert held.in_shadow(), "as long as no document says otherwise"
    assert await held.accept(update(held, pillar={"a": 1})) == "saltutil.refresh_pillar"
    assert not held.in_shadow()
    assert await held.accept(update(held, pillar={"a": 2})) == "saltutil.refresh_pillar"
    assert await held.accept(update(held, pillar={"a": 2})) == ""
    assert await held.accept(update(held, pillar={"a": 3}, modules={"_modules/x.py": "0" * 40})) == "saltutil.sync_all"
    assert held.top_sls() == {"base": ["web"]}


async def test_in_shadow_it_is_told_nothing_and_acts_by_nothing(held):
    pillar = {"schedule": {"job": {}}, "beacons": {}, "a": 1}
    assert await held.accept(update(held, pillar=pillar, drift={"shadow": True})) == ""
    assert held.in_shadow()


async def test_the_pillar_is_that_of_what_runs_and_in_shadow_without_what_acts(held):
    pillar = {"schedule": {"job": {}}, "beacons": {}, "a": 1}
    await held.accept(update(held, pillar=pillar, drift={"shadow": True}))
    assert await held.pillar() == {"a": 1}
    held.run_with(Desired(chunks={}, pillar={"a": 2}))
    assert await held.pillar() == {"a": 2}
    held.run_with(None)
    assert await held.pillar() == {"a": 1}
    await held.accept(update(held, pillar=pillar))
    assert await held.pillar() == pillar


async def test_without_a_document_the_pillar_is_empty_after_a_while(held, monkeypatch):
    monkeypatch.setattr(documents, "PILLAR_SECONDS", 0.01)
    assert await held.pillar() == {}


async def test_the_next_gateway_has_the_document(held, tmp_path):
    await held.accept(update(held, pillar={"a": 1}))
    assert StockDocuments(tmp_path, "web1", shadow_at_first=True).held().pillar == {"a": 1}


def test_grains_are_kept_and_those_of_another_process_are_not_taken(tmp_path):
    grains = StockGrains(tmp_path, "web1")
    assert grains.known == {}
    assert grains.learn({"os": "Debian", "pid": 1, "id": "other"}, of_any_process=False)
    assert grains.known == {"os": "Debian", "pid": 1, "id": "web1"}
    assert not grains.learn({"os": "Debian", "pid": 2}, of_any_process=True)
    assert grains.learn({"os": "Debian", "pid": 2}, of_any_process=False)
    assert StockGrains(tmp_path, "web1").known == {"os": "Debian", "pid": 2, "id": "web1"}
    (tmp_path / "grains.json").write_text("[")
    assert StockGrains(tmp_path, "web1").known == {}
