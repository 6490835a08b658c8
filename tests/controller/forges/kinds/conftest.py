from __future__ import annotations

import pytest
from forges.all_forges import FAKES, settings_of

from controller.forges.api import http
from controller.forges.clients import client_of
from controller.forges.limits import ForgeLimits

PROJECT = "Org/states"


@pytest.fixture(params=FAKES)
def fake(request):
    """A forge with a project, in which alice may write and mallory may not."""
    with FAKES[request.param]() as forge:
        forge.model.project(PROJECT, alice="write", root="admin", reader="read")
        yield forge


@pytest.fixture
async def connect():
    """Clients of a fake, closed in the end."""
    clients = []

    def connect(fake, *, limits=None, refused=lambda limit: None, **settings):
        clients.append(client_of(settings_of(fake, **settings), limits or ForgeLimits(), refused=refused))
        return clients[-1]

    yield connect
    for client in clients:
        await client.close()


@pytest.fixture
async def client(fake, connect):
    return connect(fake)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    """Before a request is repeated."""
    monkeypatch.setattr(http, "_PAUSE", 0.01)
