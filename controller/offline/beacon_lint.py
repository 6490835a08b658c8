"""Beacons of pillar while a tree is linted: what the minion would refuse. Called by `linting`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from highstate.lint import BeaconFault
from highstate.types import Files, Value
from minion.beacons.configured import BeaconSources, read_beacons

Inside = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class BeaconLint:
    """Looks at `beacons`; those of the tree's `_beacons` are known."""

    files: Files

    def __call__(self, given: Value) -> Iterator[BeaconFault]:
        """What is wrong with beacons, each with the keys that lead to it."""
        paths = list(_paths(given, ()))
        places = {"/".join(map(str, path)): f"#{number}" for number, path in enumerate(paths)}
        _, wrong = read_beacons(BeaconSources(own=given, places=places), self._is_in_tree)
        for text in wrong:
            place, _, why = text.partition(": ")
            yield BeaconFault(paths[int(place[1:])], why)

    def _is_in_tree(self, name: str) -> bool:
        return self.files.oid(f"_beacons/{name}.py", "base") is not None


def _paths(value: Any, inside: Inside) -> Iterator[Inside]:
    """The keys that lead to each part of a value."""
    yield inside
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _paths(part, (*inside, key if isinstance(key, int) else str(key)))
