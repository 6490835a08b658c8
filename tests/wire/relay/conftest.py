"""A relay between the server and minions of `tests/wire/conftest.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from relays import MakeRelay, RunningRelay


@pytest.fixture
def relay_with(controller: Any) -> Iterator[MakeRelay]:
    """Makes a relay that the controller has accepted."""
    made: list[RunningRelay] = []

    def make(*, accept: bool = True, **options: Any) -> RunningRelay:
        running = RunningRelay(options.pop("controller", controller.address), **options)
        made.append(running)
        if accept:
            running.accept(controller)
        return running

    yield make
    for each in made:
        each.stop()


@pytest.fixture
def relay(relay_with: MakeRelay) -> RunningRelay:
    """A relay."""
    return relay_with()
