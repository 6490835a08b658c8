"""The loop of builds with three minions."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from build_rig import MINIONS, BuildRig

from controller.store import Store


@pytest.fixture
async def make_rig(tmp_path):
    async with contextlib.AsyncExitStack() as stack:

        def make(again: BuildRig | None = None, program: str | None = "one", **language) -> BuildRig:
            """`again`: the next controller of the store that another one had."""
            if again is not None:
                return begin(BuildRig(again.store, language, program))
            store = stack.enter_context(Store(f"sqlite:///{tmp_path / 'store.sqlite'}"))
            for number, minion in enumerate(MINIONS):
                store.minions.seen(minion.id, 1.0, grains=minion.grains)
                store.keys.request(f"{number}" * 40, minion.id, 1.0)
                store.keys.set_state(minion.id, "accepted", 1.0)
            return begin(BuildRig(store, language, program))

        def begin(rig: BuildRig) -> BuildRig:
            stack.callback(rig.pool.close)
            task = asyncio.create_task(rig.builds.run())
            stack.push_async_callback(asyncio.wait, [task])
            stack.callback(task.cancel)
            return rig

        yield make


@pytest.fixture
async def rig(make_rig):
    return make_rig()
