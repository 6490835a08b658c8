"""What a Salt master compiles for a minion, compared with the document of the minion. Pure; called by the service.

Secrets are compared as they are, and shown as fingerprints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.reconcile.comparing.chunk_differences import VALUE_CHARACTERS, LowChunk, differences
from controller.schema.fleet.comparisons import MinionComparison, PillarDifference, SaltsSide
from highstate.desired import Desired
from highstate.redaction import Redaction

MOST_DIFFERENCES = 200
"""Of the chunks of one minion, and as many of its pillar."""
_ORDERS = 3008
"""The first Salt whose low chunks stand in the order in which they run."""


def compared_with_master(
    theirs: SaltsSide, mine: Desired | None, errors: Sequence[str], redaction: Redaction, salt_version: str
) -> MinionComparison:
    """How they differ.

    Args:
        theirs: what the Salt master says.
        mine: the newest document that compiled; None: none has.
        errors: why the newest revision does not compile here; empty: it does.
        redaction: of the minion.
        salt_version: of the minion, which compiles what the master gives it.
    """
    minion = theirs.minion
    if theirs.low is None and (mine is None or errors):
        why = f"neither compiles it: Salt: {_first(theirs.errors)}; Saltern: {_first(errors)}"
        return MinionComparison(minion=minion, verdict="not compared", why=redaction.text(why))
    if errors:
        why = f"Saltern does not compile it, and Salt does: {_first(errors)}"
        return MinionComparison(minion=minion, verdict="different", why=redaction.text(why))
    if mine is None:
        return MinionComparison(minion=minion, verdict="not compared", why="Saltern has compiled nothing yet")
    chunks = [chunk.as_salt() for chunk in mine.chunks.values()]
    if theirs.low is None:
        why = redaction.text(f"Salt does not compile it: {_first(theirs.errors)}")
        return MinionComparison(minion=minion, verdict="different", chunks=len(chunks), why=why)
    ordered = salt_version.partition(".")[0].isdigit() and int(salt_version.partition(".")[0]) >= _ORDERS
    found = list(differences(_run_once(theirs.low), chunks, ordered=ordered, redaction=redaction))
    pillar = [] if theirs.pillar is None else list(pillar_differences(theirs.pillar, mine.pillar))
    left_out = sum(max(0, len(each) - MOST_DIFFERENCES) for each in (found, pillar))
    return MinionComparison(
        minion=minion,
        verdict="different" if found or pillar else "same",
        chunks=len(chunks),
        differences=tuple(found[:MOST_DIFFERENCES]),
        pillar=tuple(pillar[:MOST_DIFFERENCES]),
        left_out=left_out,
    )


def pillar_differences(
    theirs: Mapping[str, Any], mine: Mapping[str, Any], path: str = ""
) -> Iterator[PillarDifference]:
    """Keys of which only one has a value, or both another one. Both are compared as JSON has them.

    Args:
        theirs: of the Salt master.
        mine: of the document.
        path: names that lead to both, with a colon at the end.
    """
    for name in sorted({*theirs, *mine}, key=str):
        key = f"{path}{name}"[:VALUE_CHARACTERS]
        if name not in mine:
            yield PillarDifference(kind="only Salt", key=key)
        elif name not in theirs:
            yield PillarDifference(kind="only Saltern", key=key)
        elif isinstance(theirs[name], Mapping) and isinstance(mine[name], Mapping):
            yield from pillar_differences(theirs[name], mine[name], f"{key}:")
        elif _json(theirs[name]) != _json(mine[name]):
            yield PillarDifference(kind="value", key=key)


def _run_once(low: Sequence[LowChunk]) -> list[LowChunk]:
    """Without the first of two equal chunks that others are a prereq of: Saltern's have none (`chunk_keys`)."""
    tags = [_json([chunk.get(key) for key in ("state", "__id__", "name", "fun")]) for chunk in low]
    last = {tag: place for place, tag in enumerate(tags) if low[place].get("__prereq__")}
    return [chunk for place, chunk in enumerate(low) if last.get(tags[place], place) == place]


def _first(errors: Sequence[str]) -> str:
    return errors[0][:VALUE_CHARACTERS] if errors else "no error"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
