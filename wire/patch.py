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
_SMALL = 64
"""Keys of a mapping that is compared as a whole first."""


def digest(document: Any) -> str:
    """Hex SHA-256 of the packed document; the order of mappings counts."""
    return digest_of_packed(_ENCODER.encode(document))


def digest_of_packed(packed: bytes) -> str:
    """`digest` of a document that is packed already (by msgspec's default encoder)."""
    return hashlib.sha256(packed).hexdigest()


def diff(old: Any, new: Any) -> list[Any]:
    """The patch that turns `old` into `new`."""
    if not (isinstance(old, dict) and isinstance(new, dict)) or not _keys_agree(old, new):
        return ["="] if _same(old, new) else ["v", new]
    changed = [[key, _diff_of_value(old[key], new[key]) if key in old else ["v", new[key]]] for key in new]
    changed = [pair for pair in changed if pair[1] != ["="]]
    removed = [key for key in old if key not in new]
    natural = [key for key in old if key in new] + [key for key in new if key not in old]
    order = None if natural == list(new) else list(new)
    if not changed and not removed and order is None:
        return ["="]
    return ["m", changed, removed, order]


def _diff_of_value(old: Any, new: Any) -> list[Any]:
    """`diff`, without a look into what is equal as a whole."""
    if old is new or (isinstance(old, dict) and len(old) <= _SMALL and _same(old, new)):
        return ["="]
    return diff(old, new)


def apply(old: Any, patch: Any) -> Any:
    """`old` with the patch applied; `old` is not modified. PatchMismatch when it was made for something else."""
    try:
        return _apply(old, patch)
    except RecursionError as error:
        raise PatchMismatch("the patch is nested too deeply") from error


def _apply(old: Any, patch: Any) -> Any:
    match patch:
        case ["="]:
            return old
        case ["v", value]:
            return value
        case ["m", [*changed], [*removed], None | [*_] as order] if isinstance(old, dict):
            return _apply_mapping(old, changed, removed, order)
        case [kind, *_] if isinstance(kind, str):
            raise PatchMismatch(f"a patch of kind {kind[:20]!r} does not fit a {type(old).__name__}")
        case _:
            raise PatchMismatch(f"a {type(patch).__name__} of no known shape is no patch")


def _apply_mapping(old: dict[Any, Any], changed: list[Any], removed: list[Any], order: list[Any] | None) -> Any:
    new = dict(old)
    try:
        for key in removed:
            del new[key]
        for key, inner in changed:
            # A new key can only be given a value: anything else was made against a mapping that had it.
            if key not in new and inner[:1] != ["v"]:
                raise PatchMismatch(f"the patch changes a key that is not there: {key!r:.80}")
            new[key] = _apply(new.get(key), inner)
        if order is None:
            return new
        if len(order) != len(new) or len(set(order)) != len(order):
            raise PatchMismatch("the patch orders other keys than there are")
        return {key: new[key] for key in order}
    except (KeyError, TypeError, ValueError) as error:
        raise PatchMismatch(f"the patch names a key that is not there: {error!s:.80}") from error


def _keys_agree(old: dict[Any, Any], new: dict[Any, Any]) -> bool:
    """False when a key is equal in both but not the same: 1, True and 1.0 are one key to Python."""
    odd = {key: key for key in old if not isinstance(key, str)}
    return all(_same(odd[key], key) for key in new if key in odd)


def _same(old: Any, new: Any) -> bool:
    """Equality that tells 1 from True and 1.0, and one order of keys from another."""
    return type(old) is type(new) and (old is new or _ENCODER.encode(old) == _ENCODER.encode(new))
