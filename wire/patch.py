"""Differences of plain documents: the controller sends these instead of whole desired states.

Law (property-tested): `apply(a, diff(a, b))` is `b`, the order of every mapping included, because templates
loop over pillar. Lists are replaced whole unless equal; chunks and files are mappings, where patches pay.

A patch is one of
    ["="]                                     nothing changes
    ["v", value]                              replaced by value
    ["m", {key: patch}, [removed], [order]]   a mapping: changed and new keys, removed keys, and the whole new order
                                              of keys if removing and appending does not give it (else null)
Keys of a mapping stand as [key, patch] pairs, since msgpack peers may refuse keys that are not strings.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from wire.errors import PatchMismatch

_ENCODER = msgspec.msgpack.Encoder()


def digest(document: Any) -> str:
    """Hex SHA-256 of the packed document; the order of mappings counts."""
    return digest_of_packed(_ENCODER.encode(document))


def digest_of_packed(packed: bytes) -> str:
    """`digest` of a document that is packed already (by msgspec's default encoder)."""
    return hashlib.sha256(packed).hexdigest()


def diff(old: Any, new: Any) -> list[Any]:
    """The patch that turns `old` into `new`."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return ["="] if _same(old, new) else ["v", new]
    changed = [[key, diff(old[key], new[key]) if key in old else ["v", new[key]]] for key in new]
    changed = [pair for pair in changed if pair[1] != ["="]]
    removed = [key for key in old if key not in new]
    natural = [key for key in old if key in new] + [key for key in new if key not in old]
    order = None if natural == list(new) else list(new)
    if not changed and not removed and order is None:
        return ["="]
    return ["m", changed, removed, order]


def apply(old: Any, patch: list[Any]) -> Any:
    """`old` with the patch applied; `old` is not modified. PatchMismatch when it was made for something else."""
    match patch:
        case ["="]:
            return old
        case ["v", value]:
            return value
        case ["m", list(changed), list(removed), order] if isinstance(old, dict):
            return _apply_mapping(old, changed, removed, order)
        case _:
            raise PatchMismatch(f"a patch of kind {patch[:1]!r} does not fit a {type(old).__name__}")


def _apply_mapping(old: dict[Any, Any], changed: list[Any], removed: list[Any], order: list[Any] | None) -> Any:
    new = dict(old)
    try:
        for key in removed:
            del new[key]
        for key, inner in changed:
            new[key] = apply(new.get(key), inner)
        return new if order is None else {key: new[key] for key in order}
    except (KeyError, TypeError, ValueError) as error:
        raise PatchMismatch(f"the patch names a key that is not there: {error}") from error


def _same(old: Any, new: Any) -> bool:
    """Equality that tells 1 from True and 1.0, and one order of keys from another."""
    return type(old) is type(new) and (old is new or _ENCODER.encode(old) == _ENCODER.encode(new))
