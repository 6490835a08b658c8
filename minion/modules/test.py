"""The execution module `test`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from minion.modules.context import Context
from minion.modules.errors import CallFailed


def ping(context: Context) -> bool:
    """True: the minion answers."""
    return True


def echo(context: Context, text: Any) -> Any:
    """What it is given."""
    return text


def version(context: Context) -> str:
    """Version of the minion."""
    from importlib.metadata import version as version_of

    return version_of("saltern")


def arg(context: Context, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The arguments as they arrive."""
    return {"args": list(args), "kwargs": kwargs}


def fib(context: Context, num: int) -> list[Any]:
    """A Fibonacci number, and the seconds that it took to add up."""
    count = int(num)
    if not 0 <= count <= 10_000:
        raise CallFailed(f"num must be from 0 to 10000, not {num}")
    start, a, b = time.perf_counter(), 0, 1
    for _ in range(count):
        a, b = b, a + b
    return [a, time.perf_counter() - start]


def sleep(context: Context, length: float) -> bool:
    """Wait for so many seconds."""
    time.sleep(float(length))
    return True


def true_(context: Context) -> bool:
    """True."""
    return True


def false_(context: Context) -> bool:
    """False."""
    return False


FUNCTIONS: Mapping[str, Any] = {
    "arg": arg,
    "echo": echo,
    "false": false_,
    "fib": fib,
    "ping": ping,
    "sleep": sleep,
    "true": true_,
    "version": version,
}
