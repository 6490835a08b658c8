"""random.*: with a seed the same each time, as Salt draws it; without one the machine is asked, and its answer kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from highstate import seeded
from highstate.functions.call import FunctionCall
from highstate.types import Value


def _seed(call: FunctionCall, range: int = 10, hash: Value = None) -> int:  # noqa: A002  (Salt's names)
    """A number below `range`, the same for this minion each time."""
    chosen = call.opt("id") if hash is None else hash
    return seeded.below(chosen, range)


def _rand_int(call: FunctionCall, start: int = 1, end: int = 10, seed: Value = None) -> Value:
    if seed is None:
        return call.ask("random.rand_int", start, end)
    return seeded.between(seed, start, end)


def _sample(call: FunctionCall, value: list[Value], size: int, seed: Value = None) -> Value:
    return call.ask("random.sample", value, size) if seed is None else seeded.sample(seed, value, size)


def _shuffle(call: FunctionCall, value: list[Value], seed: Value = None) -> Value:
    return call.ask("random.shuffle", value) if seed is None else seeded.sample(seed, value, len(value))


def _hash(call: FunctionCall, value: Value, algorithm: str = "sha512") -> str:
    data = value if isinstance(value, bytes) else str(value).encode()
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "random.seed": _seed,
    "random.rand_int": _rand_int,
    "random.sample": _sample,
    "random.shuffle": _shuffle,
    "random.hash": _hash,
}
