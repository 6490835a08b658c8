"""Questions that look through the store: a few at a time, and not too many wait."""

import asyncio
import threading

import pytest

from controller.api.lookups import Lookups
from controller.schema.errors import ServiceError
from controller.store.errors import QuestionGivenUp


def test_few_are_answered_at_once_and_others_wait_or_are_refused():
    refused, over = [], threading.Event()
    lookups = Lookups(at_once=1, most=2, on_refusal=refused.append)

    async def ask():
        waiting = [asyncio.ensure_future(lookups.ask(lambda: over.wait(10))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ServiceError) as error:
            await lookups.ask(lambda: None)
        over.set()
        return error.value.kind, await asyncio.gather(*waiting), await lookups.ask(lambda: "found")

    assert asyncio.run(ask()) == ("too-many-requests", [True, True], "found")
    assert refused == ["lookups"]


def test_one_that_is_given_up_says_so():
    def look():
        raise QuestionGivenUp("it took long")

    with pytest.raises(ServiceError, match="it took long") as error:
        asyncio.run(Lookups(at_once=1, most=1, on_refusal=print).ask(look))
    assert error.value.kind == "unavailable"
