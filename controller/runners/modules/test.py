"""The runner `test`: shows how arguments arrive, waits, and says how far it is."""

from __future__ import annotations

import asyncio
from typing import Any

from controller.runners.context import RunnerContext

_STREAMED = 100
_WORDS = {
    "us": (
        *("foo", "bar", "baz", "qux", "quux", "quuz", "corge", "grault"),
        *("garply", "waldo", "fred", "plugh", "xyzzy", "thud"),
    ),
    "uk": ("wibble", "wobble", "wubble", "flob"),
}


async def arg(context: RunnerContext, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments as they arrive."""
    return {"args": list(args), "kwargs": {key: one for key, one in kwargs.items() if not key.startswith("__")}}


async def raw_arg(context: RunnerContext, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments as they arrive, with what the caller added to them."""
    return {"args": list(args), "kwargs": dict(kwargs)}


async def metasyntactic(context: RunnerContext, locality: str = "us") -> list[str] | None:
    """Words that stand for any word; null for a place of which none are known."""
    return list(_WORDS[locality]) if locality in _WORDS else None


async def stdout_print(context: RunnerContext) -> str:
    """Print a word, and return another."""
    await context.listener.write("foo")
    return "bar"


async def sleep(context: RunnerContext, s_time: float = 10) -> bool:
    """Wait for so many seconds."""
    context.say({"message": f"waiting for {s_time:g} s"})
    await asyncio.sleep(s_time)
    return True


async def stream(context: RunnerContext) -> bool:
    """Say a hundred times how far it is."""
    for number in range(1, _STREAMED):
        context.say({"message": f"Runner is {number}% done"})
        await asyncio.sleep(0.1)
    return True


FUNCTIONS = {
    "arg": arg,
    "metasyntactic": metasyntactic,
    "raw_arg": raw_arg,
    "sleep": sleep,
    "stdout_print": stdout_print,
    "stream": stream,
}
