"""What is not the same in the low chunks that Salt and Saltern compile for a minion. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from controller.schema.fleet.comparisons import ChunkDifference
from highstate.redaction import NOTHING_SECRET, Redaction

VALUE_CHARACTERS = 1000
"""Of a value that is shown; what is longer is cut off."""
LowChunk: TypeAlias = Mapping[str, Any]

_NOT_ARGUMENTS = frozenset(("order",))
"""The number of a chunk follows from the others; what counts is which comes before which."""
_MISSING = "(not given)"


def differences(
    salts: Sequence[LowChunk],
    ours: Sequence[LowChunk],
    *,
    ordered: bool = True,
    redaction: Redaction = NOTHING_SECRET,
) -> Iterator[ChunkDifference]:
    """All differences: chunks that only one has, other arguments, and another order.

    Args:
        salts: low chunks of Salt.
        ours: low chunks of Saltern.
        ordered: whether Salt's stand in the order in which they run; else the order is not compared.
        redaction: of what is shown.
    """
    for found in _differences(salts, ours, ordered=ordered, redaction=redaction):
        yield ChunkDifference(
            kind=found.kind,
            chunk=redaction.text(found.chunk),
            sls=found.sls,
            arguments=found.arguments,
        )


def _differences(
    salts: Sequence[LowChunk], ours: Sequence[LowChunk], *, ordered: bool, redaction: Redaction
) -> Iterator[ChunkDifference]:
    pairs, only_salts, only_ours = _paired(salts, ours)
    for chunk in only_salts:
        yield ChunkDifference(kind="only Salt", chunk=_name(chunk), sls=_sls(chunk))
    for chunk in only_ours:
        yield ChunkDifference(kind="only Saltern", chunk=_name(chunk), sls=_sls(chunk))
    for theirs, mine in pairs:
        if arguments := _arguments(theirs, mine, redaction):
            yield ChunkDifference(kind="arguments", chunk=_name(mine), sls=_sls(mine), arguments=arguments)
    if ordered:
        yield from _order(pairs, salts)


def _paired(
    salts: Sequence[LowChunk], ours: Sequence[LowChunk]
) -> tuple[list[tuple[LowChunk, LowChunk]], list[LowChunk], list[LowChunk]]:
    """Chunks that are the same thing on both sides, in our order, and those that only one side has."""
    pairs: list[tuple[int, LowChunk, LowChunk]] = []
    left_ours = list(enumerate(ours))
    left_salts = list(salts)
    # Two rounds: the name of a state may be the argument that differs.
    for keys in (("state", "fun", "__id__", "name"), ("state", "fun", "__id__")):
        waiting: dict[str, list[LowChunk]] = defaultdict(list)
        for chunk in left_salts:
            waiting[_key(chunk, keys)].append(chunk)
        unpaired = []
        for index, chunk in left_ours:
            if found := waiting[_key(chunk, keys)]:
                pairs.append((index, found.pop(0), chunk))
            else:
                unpaired.append((index, chunk))
        left_ours = unpaired
        left_salts = [chunk for each in waiting.values() for chunk in each]
    pairs.sort(key=lambda pair: pair[0])
    return [(theirs, mine) for _, theirs, mine in pairs], left_salts, [chunk for _, chunk in left_ours]


def _arguments(theirs: LowChunk, mine: LowChunk, redaction: Redaction) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for name in sorted({*theirs, *mine} - _NOT_ARGUMENTS):
        here, there = name in mine, name in theirs
        if name.startswith("__") and not (here and there):
            continue  # versions of Salt note other things of where a chunk comes from
        if name == "__env__" and not isinstance(theirs.get(name), str):
            continue  # `env` was meant by somebody
        if not (here and there) or _json(theirs[name]) != _json(mine[name]):
            found[name] = (
                _shown(redaction.named(name, redaction.value(theirs[name]))) if there else _MISSING,
                _shown(redaction.named(name, redaction.value(mine[name]))) if here else _MISSING,
            )
    return found


def _order(pairs: Sequence[tuple[LowChunk, LowChunk]], salts: Sequence[LowChunk]) -> Iterator[ChunkDifference]:
    """The first place at which another chunk stands, of those that both have."""
    place = {id(chunk): index for index, chunk in enumerate(salts)}
    theirs = sorted(pairs, key=lambda pair: place[id(pair[0])])
    for by_salt, by_us in zip(theirs, pairs, strict=True):
        if by_salt is not by_us:
            shown = (_name(by_salt[1]), _name(by_us[1]))
            yield ChunkDifference(
                kind="order", chunk=_name(by_us[1]), sls=_sls(by_us[1]), arguments={"comes first": shown}
            )
            return


def _key(chunk: LowChunk, keys: Sequence[str]) -> str:
    return _json([chunk.get(key) for key in keys])


def _name(chunk: LowChunk) -> str:
    return f"{chunk.get('__id__')}: {chunk.get('state')}.{chunk.get('fun')}"[:VALUE_CHARACTERS]


def _sls(chunk: LowChunk) -> str:
    return str(chunk.get("__sls__") or "")[:VALUE_CHARACTERS]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _shown(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= VALUE_CHARACTERS else text[:VALUE_CHARACTERS] + "…"
